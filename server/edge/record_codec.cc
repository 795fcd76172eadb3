#include "server/edge/record_codec.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "proto/rondo/v1/journal.pb.h"
#include "server/edge/record_wire.h"

namespace rondo::server {
namespace {

static_assert(static_cast<int>(Purpose::kRepair) + 1 == v1::PURPOSE_REPAIR);
static_assert(static_cast<int>(StateNeed::kPartial) + 1 == v1::STATE_NEED_PARTIAL);
static_assert(static_cast<int>(EndState::kFailed) + 1 == v1::END_STATE_FAILED);
static_assert(static_cast<int>(RequestKind::kCheckpoint) + 1 == v1::REQUEST_KIND_CHECKPOINT);

}  // namespace

std::string EncodeTerm(const TermRecord& record) {
  v1::TermRecord out;
  out.set_term(record.term.value);
  out.set_at_micros(ToMicros(record.at));
  out.set_life(record.life);
  if (record.beyond) {
    v1::Seen* beyond = out.mutable_beyond();
    beyond->set_term(record.beyond->term.value);
    beyond->set_life(record.beyond->life);
    beyond->set_group(record.beyond->group.value);
    beyond->set_round(record.beyond->round.value);
  }
  return out.SerializeAsString();
}

absl::StatusOr<TermRecord> DecodeTerm(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::TermRecord in, Parse<v1::TermRecord>(bytes, "term"));
  TermRecord record{{in.term()}, FromMicros(in.at_micros()), in.life()};
  if (in.has_beyond()) {
    const v1::Seen& beyond = in.beyond();
    record.beyond = Seen{{beyond.term()}, beyond.life(), {beyond.group()}, {beyond.round()}};
  }
  return record;
}

std::string EncodeReference(const ReferenceRecord& record) {
  v1::ReferenceRecord out;
  v1::Prepared* facts = out.mutable_facts();
  facts->set_layout_hash(record.facts.layout_hash);
  facts->set_data_hash(record.facts.data_hash);
  facts->set_train_samples(record.facts.train_samples);
  facts->set_test_samples(record.facts.test_samples);
  facts->set_parameters(record.facts.parameters);
  facts->set_float_buffers(record.facts.float_buffers);
  for (const FileFact& file : record.facts.files) {
    v1::JobFile* named = facts->add_files();
    named->set_path(file.path);
    named->set_size(file.size);
    named->set_sha256(file.sha256);
  }
  out.set_total_steps(record.total_steps);
  return out.SerializeAsString();
}

absl::StatusOr<ReferenceRecord> DecodeReference(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::ReferenceRecord in, Parse<v1::ReferenceRecord>(bytes, "reference"));
  const v1::Prepared& facts = in.facts();
  ReferenceRecord record;
  record.facts.layout_hash = facts.layout_hash();
  record.facts.data_hash = facts.data_hash();
  record.facts.train_samples = facts.train_samples();
  record.facts.test_samples = facts.test_samples();
  record.facts.parameters = facts.parameters();
  record.facts.float_buffers = facts.float_buffers();
  for (const v1::JobFile& file : facts.files()) {
    record.facts.files.push_back({file.path(), file.size(), file.sha256()});
  }
  record.total_steps = in.total_steps();
  return record;
}

std::string EncodeGroup(const GroupRecord& record) {
  v1::GroupRecord out;
  out.set_group(record.group.value);
  out.set_purpose(ToWire<v1::Purpose>(record.purpose));
  for (const Member& member : record.members) {
    v1::Member* named = out.add_members();
    named->set_name(member.name);
    named->set_incarnation(member.incarnation.value);
    named->set_need(ToWire<v1::StateNeed>(member.need));
  }
  out.set_at_micros(ToMicros(record.at));
  return out.SerializeAsString();
}

absl::StatusOr<GroupRecord> DecodeGroup(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::GroupRecord in, Parse<v1::GroupRecord>(bytes, "group"));
  GroupRecord record;
  record.group = {in.group()};
  record.at = FromMicros(in.at_micros());
  ASSIGN_OR_RETURN(record.purpose, FromWire(in.purpose(), Purpose::kRepair, "purpose"));
  for (const v1::Member& member : in.members()) {
    ASSIGN_OR_RETURN(const StateNeed need,
                     FromWire(member.need(), StateNeed::kPartial, "state need"));
    record.members.push_back({member.name(), {member.incarnation()}, need});
  }
  return record;
}

std::string EncodeEvaluation(const EvaluationRecord& record) {
  v1::EvaluationRecord out;
  out.set_round(record.round.value);
  out.set_step(record.step);
  out.set_loss(record.loss);
  if (record.accuracy) out.set_accuracy(*record.accuracy);
  out.set_count(record.count);
  out.set_seconds(record.seconds);
  return out.SerializeAsString();
}

absl::StatusOr<EvaluationRecord> DecodeEvaluation(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::EvaluationRecord in, Parse<v1::EvaluationRecord>(bytes, "evaluation"));
  EvaluationRecord record{{in.round()}, in.step(), in.loss(), {}, in.count(), in.seconds()};
  if (in.has_accuracy()) record.accuracy = in.accuracy();
  return record;
}

std::string EncodeVoid(const VoidRecord& record) {
  v1::VoidRecord out;
  out.set_round(record.round.value);
  out.set_reason(record.reason);
  return out.SerializeAsString();
}

absl::StatusOr<VoidRecord> DecodeVoid(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::VoidRecord in, Parse<v1::VoidRecord>(bytes, "void"));
  return VoidRecord{{in.round()}, in.reason()};
}

std::string EncodeCheckpoint(const CheckpointRecord& record) {
  v1::CheckpointRecord out;
  out.set_round(record.round.value);
  out.set_step(record.step);
  out.set_state_hash(record.state_hash);
  for (const std::string& name : record.local_files) out.add_local_files(name);
  return out.SerializeAsString();
}

absl::StatusOr<CheckpointRecord> DecodeCheckpoint(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::CheckpointRecord in, Parse<v1::CheckpointRecord>(bytes, "checkpoint"));
  return CheckpointRecord{
      {in.round()},
      in.step(),
      in.state_hash(),
      {in.local_files().begin(), in.local_files().end()},
  };
}

std::string EncodeNotice(const NoticeRecord& record) {
  v1::NoticeRecord out;
  out.set_at_micros(ToMicros(record.at));
  out.set_kind(record.kind);
  out.set_text(record.text);
  out.set_round(record.round.value);
  out.set_worker(record.worker);
  out.set_seconds(record.seconds);
  out.set_residual_norm_squared(record.residual_norm_squared);
  return out.SerializeAsString();
}

absl::StatusOr<NoticeRecord> DecodeNotice(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::NoticeRecord in, Parse<v1::NoticeRecord>(bytes, "notice"));
  return NoticeRecord{
      FromMicros(in.at_micros()), in.kind(), in.text(), {in.round()}, in.worker(), in.seconds(),
      in.residual_norm_squared()};
}

std::string EncodeEnd(const EndRecord& record) {
  v1::EndRecord out;
  out.set_state(ToWire<v1::EndState>(record.state));
  out.set_reason(record.reason);
  out.set_step(record.step);
  out.set_syncs(record.syncs);
  out.set_checksum(record.checksum);
  out.set_samples_unused(record.samples_unused);
  out.set_at_micros(ToMicros(record.at));
  out.set_residuals_undelivered(record.residuals_undelivered);
  out.set_residual_norm_squared(record.residual_norm_squared);
  return out.SerializeAsString();
}

absl::StatusOr<EndRecord> DecodeEnd(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::EndRecord in, Parse<v1::EndRecord>(bytes, "end"));
  EndRecord record{.reason = in.reason(),
                   .step = in.step(),
                   .syncs = in.syncs(),
                   .checksum = in.checksum(),
                   .samples_unused = in.samples_unused(),
                   .at = FromMicros(in.at_micros()),
                   .residuals_undelivered = in.residuals_undelivered(),
                   .residual_norm_squared = in.residual_norm_squared()};
  ASSIGN_OR_RETURN(record.state, FromWire(in.state(), EndState::kFailed, "end state"));
  return record;
}

std::string EncodeRewind(const RewindRecord& record) {
  v1::RewindRecord out;
  out.set_to_round(record.to_round.value);
  out.set_to_step(record.to_step);
  out.set_first_undone(record.first_undone.value);
  out.set_reason(record.reason);
  out.set_at_micros(ToMicros(record.at));
  return out.SerializeAsString();
}

absl::StatusOr<RewindRecord> DecodeRewind(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::RewindRecord in, Parse<v1::RewindRecord>(bytes, "rewind"));
  return RewindRecord{
      {in.to_round()}, in.to_step(), {in.first_undone()}, in.reason(), FromMicros(in.at_micros())};
}

std::string EncodeRequest(const RequestRecord& record) {
  v1::RequestRecord out;
  out.set_kind(ToWire<v1::RequestKind>(record.kind));
  out.set_reason(record.reason);
  out.set_worker(record.worker);
  out.set_incarnation(record.incarnation.value);
  out.set_at_micros(ToMicros(record.at));
  return out.SerializeAsString();
}

absl::StatusOr<RequestRecord> DecodeRequest(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::RequestRecord in, Parse<v1::RequestRecord>(bytes, "request"));
  RequestRecord record{.reason = in.reason(),
                       .worker = in.worker(),
                       .incarnation = {in.incarnation()},
                       .at = FromMicros(in.at_micros())};
  ASSIGN_OR_RETURN(record.kind, FromWire(in.kind(), RequestKind::kCheckpoint, "request"));
  return record;
}

}  // namespace rondo::server
