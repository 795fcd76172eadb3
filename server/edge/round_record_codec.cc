// Records of rounds: orders, commits and their ledger.
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "proto/rondo/v1/journal.pb.h"
#include "server/edge/comm_codec.h"
#include "server/edge/record_codec.h"
#include "server/edge/record_wire.h"

namespace rondo::server {
namespace {

static_assert(static_cast<int>(RoundMode::kLocal) + 1 == v1::MODE_LOCAL);
static_assert(static_cast<int>(Collective::kTopkGather) + 1 == v1::COLLECTIVE_KIND_TOPK_GATHER);
static_assert(static_cast<int>(CostPhase::kApply) + 1 == v1::PHASE_APPLY);

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

void Put(const SparseStats& stats, v1::SparseStats* out) {
  out->set_reductions(stats.reductions);
  out->set_selected(stats.selected);
  out->set_region_entries(stats.region_entries);
  out->set_merged(stats.merged);
  out->set_delivered(stats.delivered);
  out->set_largest_part(stats.largest_part);
  out->set_cuts(stats.cuts);
  out->set_thresholds(stats.thresholds);
  out->set_rebalanced(stats.rebalanced);
}

SparseStats Get(const v1::SparseStats& in) {
  return {.reductions = in.reductions(),
          .selected = in.selected(),
          .region_entries = in.region_entries(),
          .merged = in.merged(),
          .delivered = in.delivered(),
          .largest_part = in.largest_part(),
          .cuts = in.cuts(),
          .thresholds = in.thresholds(),
          .rebalanced = in.rebalanced()};
}

void PutReductions(const CommitRecord& record, v1::CommitRecord* out) {
  out->set_collective(ToWire<v1::CollectiveKind>(record.collective));
  out->set_density(record.density);
  for (const PhaseCost& cost : record.costs) EncodeCost(cost, out->add_costs());
  if (record.sparse) Put(*record.sparse, out->mutable_sparse());
  out->set_largest_region(record.largest_region);
  for (const ResidualNorm& residual : record.residuals) {
    v1::ResidualNorm* each = out->add_residuals();
    each->set_worker(residual.worker);
    each->set_norm_squared(residual.norm_squared);
  }
  out->set_reductions(record.reductions);
}

absl::Status GetReductions(const v1::CommitRecord& in, CommitRecord* record) {
  // Commits of before there was a choice do not say it.
  if (in.collective() != v1::COLLECTIVE_KIND_UNSPECIFIED) {
    ASSIGN_OR_RETURN(record->collective,
                     FromWire(in.collective(), Collective::kTopkGather, "collective"));
  }
  record->density = in.density();
  for (const v1::PhaseCost& cost : in.costs()) {
    ASSIGN_OR_RETURN(const CostPhase phase, FromWire(cost.phase(), CostPhase::kApply, "phase"));
    record->costs.push_back({.phase = phase,
                             .bytes_sent = cost.bytes_sent(),
                             .bytes_received = cost.bytes_received(),
                             .header_bytes_sent = cost.header_bytes_sent(),
                             .seconds = cost.seconds(),
                             .calls = cost.calls()});
  }
  if (in.has_sparse()) record->sparse = Get(in.sparse());
  record->largest_region = in.largest_region();
  for (const v1::ResidualNorm& residual : in.residuals()) {
    record->residuals.push_back({residual.worker(), residual.norm_squared()});
  }
  record->reductions = in.reductions();
  return absl::OkStatus();
}

}  // namespace

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
  ASSIGN_OR_RETURN(record.collective,
                   FromWire(in.collective(), Collective::kTopkGather, "collective"));
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
  PutReductions(record, &out);
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
  RETURN_IF_ERROR(GetReductions(in, &record));
  record.ledger = Get(state);
  return record;
}

}  // namespace rondo::server
