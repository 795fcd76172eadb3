// A round's story (server/core/explain.h) on the wire.
#ifndef RONDO_SERVER_EDGE_EXPLAIN_CODEC_H_
#define RONDO_SERVER_EDGE_EXPLAIN_CODEC_H_

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/core/explain.h"
#include "server/edge/journal_reader.h"

namespace rondo::server {

void EncodeStory(const RoundStory& story, v1::RoundExplanation* out);

// The story of the round as the journal tells it; round 0: the newest that was ordered. A
// schedule's `steps` of 0 is filled in from the journal. Errors: NotFound: it was never ordered;
// DataLoss: the journal is damaged.
absl::StatusOr<v1::RoundExplanation> ExplainFromJournal(JournalReader& journal,
                                                        ExplainConfig config, RoundId round);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_EXPLAIN_CODEC_H_
