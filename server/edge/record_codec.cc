#include "server/edge/record_codec.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/journal.pb.h"

namespace rondo::server {
namespace {

// The core's enums have the wire's values in the same order, less UNSPECIFIED.
static_assert(static_cast<int>(Purpose::kRepair) + 1 == v1::PURPOSE_REPAIR);
static_assert(static_cast<int>(StateNeed::kPartial) + 1 == v1::STATE_NEED_PARTIAL);
static_assert(static_cast<int>(RoundMode::kLocal) + 1 == v1::MODE_LOCAL);
static_assert(static_cast<int>(Collective::kSparse) + 1 == v1::COLLECTIVE_KIND_SPARSE);
static_assert(static_cast<int>(EndState::kFailed) + 1 == v1::END_STATE_FAILED);
static_assert(static_cast<int>(RequestKind::kCheckpoint) + 1 == v1::REQUEST_KIND_CHECKPOINT);

template <typename Wire, typename Core>
Wire ToWire(Core value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

template <typename Core>
absl::StatusOr<Core> FromWire(int value, Core last, std::string_view what) {
  if (value >= 1 && value <= static_cast<int>(last) + 1) return static_cast<Core>(value - 1);
  return absl::DataLossError(fmt::format("{} {} is unknown", what, value));
}

int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
absl::Time FromMicros(int64_t micros) { return absl::FromUnixMicros(micros); }

template <typename Message>
absl::StatusOr<Message> Parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError(fmt::format("the bytes of a {} record are damaged", what));
}

void Put(const SampleRun& run, v1::SampleRun* out) {
  out->set_epoch(run.epoch);
  out->set_first(run.first);
  out->set_count(run.count);
  out->set_stride(run.stride);
  out->set_steps(run.steps);
  out->set_advance(run.advance);
  out->set_same_steps(run.same_steps);
}

SampleRun Get(const v1::SampleRun& run) {
  return {.epoch = run.epoch(),
          .first = run.first(),
          .count = run.count(),
          .stride = run.stride(),
          .steps = run.steps(),
          .advance = run.advance(),
          .same_steps = run.same_steps()};
}

void Put(const LedgerState& ledger, v1::LedgerState* out) {
  out->set_epoch(ledger.epoch);
  out->set_position(ledger.position);
  for (const SampleRun& run : ledger.returned) Put(run, out->add_returned());
  out->set_samples_used(ledger.samples_used);
  out->set_samples_dropped(ledger.samples_dropped);
}

LedgerState Get(const v1::LedgerState& ledger) {
  LedgerState state;
  state.epoch = ledger.epoch();
  state.position = ledger.position();
  for (const v1::SampleRun& run : ledger.returned()) state.returned.push_back(Get(run));
  state.samples_used = ledger.samples_used();
  state.samples_dropped = ledger.samples_dropped();
  return state;
}

void Put(const RoundSoFar& so_far, v1::RoundSoFar* out) {
  out->set_steps(so_far.steps);
  Put(so_far.ledger, out->mutable_ledger());
  out->set_samples(so_far.samples);
  for (const std::string& name : so_far.contributors) out->add_contributors(name);
  out->set_loss_steps(so_far.loss_steps);
  out->set_loss_sum(so_far.loss_sum);
  out->set_orders(so_far.orders);
}

RoundSoFar Get(const v1::RoundSoFar& in) {
  RoundSoFar so_far;
  so_far.steps = in.steps();
  so_far.ledger = Get(in.ledger());
  so_far.samples = in.samples();
  so_far.contributors.assign(in.contributors().begin(), in.contributors().end());
  so_far.loss_steps = in.loss_steps();
  so_far.loss_sum = in.loss_sum();
  so_far.orders = in.orders();
  return so_far;
}

}  // namespace

std::string EncodeTerm(const TermRecord& record) {
  v1::TermRecord out;
  out.set_term(record.term.value);
  out.set_at_micros(ToMicros(record.at));
  return out.SerializeAsString();
}

absl::StatusOr<TermRecord> DecodeTerm(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::TermRecord in, Parse<v1::TermRecord>(bytes, "term"));
  return TermRecord{{in.term()}, FromMicros(in.at_micros())};
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

std::string EncodeOrder(const OrderRecord& record) {
  v1::OrderRecord out;
  out.set_round(record.round.value);
  out.set_group(record.group.value);
  out.set_mode(ToWire<v1::Mode>(record.mode));
  out.set_collective(ToWire<v1::CollectiveKind>(record.collective));
  out.set_first_step(record.first_step);
  out.set_length(record.length);
  out.set_rate_first(record.rate_first);
  out.set_rates_hash(record.rates_hash);
  for (const std::vector<SampleRun>& rank : record.runs) {
    v1::RunsOfRank* runs = out.add_runs();
    for (const SampleRun& run : rank) Put(run, runs->add_runs());
  }
  out.set_density(record.density);
  out.mutable_batches()->Add(record.batches.begin(), record.batches.end());
  out.set_tail_dropped(record.tail_dropped);
  Put(record.after, out.mutable_after());
  out.set_evaluation_due(record.evaluation_due);
  out.set_save_due(record.save_due);
  out.set_base_hash(record.base_hash);
  out.set_at_micros(ToMicros(record.at));
  if (record.so_far) Put(*record.so_far, out.mutable_so_far());
  return out.SerializeAsString();
}

absl::StatusOr<OrderRecord> DecodeOrder(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::OrderRecord in, Parse<v1::OrderRecord>(bytes, "order"));
  OrderRecord record;
  record.round = {in.round()};
  record.group = {in.group()};
  record.first_step = in.first_step();
  record.length = in.length();
  record.rate_first = in.rate_first();
  record.rates_hash = in.rates_hash();
  record.at = FromMicros(in.at_micros());
  ASSIGN_OR_RETURN(record.mode, FromWire(in.mode(), RoundMode::kLocal, "mode"));
  ASSIGN_OR_RETURN(record.collective, FromWire(in.collective(), Collective::kSparse, "collective"));
  for (const v1::RunsOfRank& rank : in.runs()) {
    std::vector<SampleRun>& runs = record.runs.emplace_back();
    for (const v1::SampleRun& run : rank.runs()) runs.push_back(Get(run));
  }
  record.density = in.density();
  record.batches.assign(in.batches().begin(), in.batches().end());
  record.tail_dropped = in.tail_dropped();
  record.after = Get(in.after());
  record.evaluation_due = in.evaluation_due();
  record.save_due = in.save_due();
  record.base_hash = in.base_hash();
  if (in.has_so_far()) record.so_far = Get(in.so_far());
  return record;
}

std::string EncodeCommit(const CommitRecord& record) {
  v1::CommitRecord out;
  out.set_round(record.round.value);
  out.set_group(record.group.value);
  out.set_attempt(record.attempt);
  out.set_attempts(record.attempts);
  out.set_mode(ToWire<v1::Mode>(record.mode));
  out.set_first_step(record.first_step);
  out.set_length(record.length);
  out.set_rate_first(record.rate_first);
  out.set_state_hash(record.state_hash);
  out.set_mean_loss(record.mean_loss);
  out.set_parameter_norm_squared(record.parameter_norm_squared);
  out.set_residual_norm_squared(record.residual_norm_squared);
  for (const std::string& name : record.members) out.add_members(name);
  for (const std::string& name : record.contributors) out.add_contributors(name);
  out.set_samples(record.samples);
  out.set_bytes_sent(record.bytes_sent);
  out.set_step_seconds(record.step_seconds);
  out.set_reduce_seconds(record.reduce_seconds);
  out.set_control_seconds(record.control_seconds);
  out.set_seconds(record.seconds);
  out.set_at_micros(ToMicros(record.at));
  return out.SerializeAsString();
}

std::string EncodeLedger(const LedgerState& ledger) {
  v1::LedgerState out;
  Put(ledger, &out);
  return out.SerializeAsString();
}

absl::StatusOr<CommitRecord> DecodeCommit(std::string_view bytes, std::string_view ledger) {
  ASSIGN_OR_RETURN(const v1::CommitRecord in, Parse<v1::CommitRecord>(bytes, "commit"));
  ASSIGN_OR_RETURN(const v1::LedgerState state, Parse<v1::LedgerState>(ledger, "ledger"));
  CommitRecord record;
  record.round = {in.round()};
  record.group = {in.group()};
  record.attempt = in.attempt();
  record.attempts = in.attempts();
  record.first_step = in.first_step();
  record.length = in.length();
  record.rate_first = in.rate_first();
  record.state_hash = in.state_hash();
  record.mean_loss = in.mean_loss();
  record.parameter_norm_squared = in.parameter_norm_squared();
  record.residual_norm_squared = in.residual_norm_squared();
  record.members.assign(in.members().begin(), in.members().end());
  record.contributors.assign(in.contributors().begin(), in.contributors().end());
  record.samples = in.samples();
  record.bytes_sent = in.bytes_sent();
  record.step_seconds = in.step_seconds();
  record.reduce_seconds = in.reduce_seconds();
  record.control_seconds = in.control_seconds();
  record.seconds = in.seconds();
  record.at = FromMicros(in.at_micros());
  ASSIGN_OR_RETURN(record.mode, FromWire(in.mode(), RoundMode::kLocal, "mode"));
  record.ledger = Get(state);
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
  return out.SerializeAsString();
}

absl::StatusOr<NoticeRecord> DecodeNotice(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::NoticeRecord in, Parse<v1::NoticeRecord>(bytes, "notice"));
  return NoticeRecord{
      FromMicros(in.at_micros()), in.kind(), in.text(), {in.round()}, in.worker(), in.seconds()};
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
  return out.SerializeAsString();
}

absl::StatusOr<EndRecord> DecodeEnd(std::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::EndRecord in, Parse<v1::EndRecord>(bytes, "end"));
  EndRecord record{.reason = in.reason(),
                   .step = in.step(),
                   .syncs = in.syncs(),
                   .checksum = in.checksum(),
                   .samples_unused = in.samples_unused(),
                   .at = FromMicros(in.at_micros())};
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
