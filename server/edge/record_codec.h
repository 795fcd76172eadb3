// Records of the core to and from their bytes in the journal. Exact: what is decoded equals what
// was encoded, not-a-number and times (to the microsecond) included.
#ifndef RONDO_SERVER_EDGE_RECORD_CODEC_H_
#define RONDO_SERVER_EDGE_RECORD_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/records.h"

namespace rondo::server {

std::string EncodeTerm(const TermRecord& record);
std::string EncodeReference(const ReferenceRecord& record);
std::string EncodeGroup(const GroupRecord& record);
std::string EncodeOrder(const OrderRecord& record);
// Without the ledger, which is encoded on its own.
std::string EncodeCommit(const CommitRecord& record);
std::string EncodeLedger(const LedgerState& ledger);
std::string EncodeEvaluation(const EvaluationRecord& record);
std::string EncodeVoid(const VoidRecord& record);
std::string EncodeCheckpoint(const CheckpointRecord& record);
std::string EncodeNotice(const NoticeRecord& record);
std::string EncodeEnd(const EndRecord& record);
std::string EncodeRewind(const RewindRecord& record);
std::string EncodeRequest(const RequestRecord& record);

// Errors: DataLoss when the bytes are no such record or hold an enum value that is unknown.
absl::StatusOr<TermRecord> DecodeTerm(std::string_view bytes);
absl::StatusOr<ReferenceRecord> DecodeReference(std::string_view bytes);
absl::StatusOr<GroupRecord> DecodeGroup(std::string_view bytes);
absl::StatusOr<OrderRecord> DecodeOrder(std::string_view bytes);
absl::StatusOr<CommitRecord> DecodeCommit(std::string_view bytes, std::string_view ledger);
absl::StatusOr<EvaluationRecord> DecodeEvaluation(std::string_view bytes);
absl::StatusOr<VoidRecord> DecodeVoid(std::string_view bytes);
absl::StatusOr<CheckpointRecord> DecodeCheckpoint(std::string_view bytes);
absl::StatusOr<NoticeRecord> DecodeNotice(std::string_view bytes);
absl::StatusOr<EndRecord> DecodeEnd(std::string_view bytes);
absl::StatusOr<RewindRecord> DecodeRewind(std::string_view bytes);
absl::StatusOr<RequestRecord> DecodeRequest(std::string_view bytes);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_RECORD_CODEC_H_
