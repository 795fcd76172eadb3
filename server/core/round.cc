#include "server/core/round.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "common/mix64.h"
#include "common/reduction_costs.h"
#include "common/status_macros.h"
#include "server/core/comm_stats.h"

namespace rondo::server {

RoundMember* Round::Find(const std::string& name, Incarnation incarnation) {
  return const_cast<RoundMember*>(std::as_const(*this).Find(name, incarnation));
}

const RoundMember* Round::Find(const std::string& name, Incarnation incarnation) const {
  for (const RoundMember& member : members) {
    if (member.name == name && member.incarnation == incarnation) return &member;
  }
  return nullptr;
}

namespace {

std::vector<double> RatesOf(const ScheduleConfig& schedule, uint64_t first_step, uint64_t length) {
  std::vector<double> rates;
  for (uint64_t step = 0; step < length; ++step) {
    rates.push_back(RateAt(schedule, static_cast<int64_t>(first_step + step)));
  }
  return rates;
}

}  // namespace

bool IsFinite(const RoundMember& member) {
  return member.ready ? member.ready->finite : member.finite;
}

absl::Status DealOrder(const ScheduleConfig& schedule, const ShareRequest& request,
                       const std::vector<Member>& members, Round& round) {
  ASSIGN_OR_RETURN(Share share, DecideShare(round.so_far.ledger, request));
  round.rates = RatesOf(schedule, round.first_step, round.length);
  round.members.clear();
  for (size_t rank = 0; rank < members.size(); ++rank) {
    round.members.push_back({.name = members[rank].name,
                             .incarnation = members[rank].incarnation,
                             .runs = std::move(share.runs[rank]),
                             .batch = share.batch[rank]});
  }
  round.tail_dropped = share.tail_dropped;
  round.after = std::move(share.after);
  return absl::OkStatus();
}

absl::StatusOr<Round> DecideOrder(const PolicyConfig& policy, const ScheduleConfig& schedule,
                                  const OrderRequest& request) {
  const RoundDecision decision = DecideRound(policy, schedule, static_cast<int64_t>(request.step));
  Round round;
  round.id = request.round;
  round.group = request.group;
  round.mode = decision.mode;
  round.collective = request.collective;
  round.density = request.density;
  round.first_step = request.step;
  round.length = static_cast<uint64_t>(decision.length);
  round.so_far.ledger = request.ledger;
  RETURN_IF_ERROR(DealOrder(
      schedule, {request.train_samples, request.global_batch, round.length, request.members.size()},
      request.members, round));
  round.rate_first = round.rates.front();
  return round;
}

Order OrderFor(const Round& round, size_t rank) {
  Order order;
  order.group = round.group;
  order.round = round.id;
  order.mode = round.mode;
  order.collective = round.collective;
  order.density = round.density;
  order.first_step = round.first_step;
  order.length = round.length;
  order.rates = round.rates;
  order.runs = round.members[rank].runs;
  order.weight = static_cast<double>(round.members[rank].batch);
  for (const RoundMember& member : round.members) {
    order.weight_sum += static_cast<double>(member.batch);
  }
  order.evaluation_due = round.evaluation_due;
  order.save_due = round.save_due;
  return order;
}

OrderRecord RecordOf(const Round& round, absl::Time now) {
  OrderRecord record;
  record.round = round.id;
  record.group = round.group;
  record.mode = round.mode;
  record.collective = round.collective;
  record.first_step = round.first_step;
  record.length = round.length;
  record.rate_first = round.rates.empty() ? 0 : round.rates.front();
  record.rates_hash = HashRates(round.rates);
  record.density = round.density;
  for (const RoundMember& member : round.members) {
    record.runs.push_back(member.runs);
    record.batches.push_back(member.batch);
  }
  record.tail_dropped = round.tail_dropped;
  record.after = round.after;
  record.base_hash = round.base_hash;
  record.evaluation_due = round.evaluation_due;
  record.save_due = round.save_due;
  if (round.so_far.orders > 0) record.so_far = round.so_far;
  record.at = now;
  return record;
}

Round AdoptRound(const OrderRecord& record, const std::vector<Member>& members,
                 const LedgerState& committed, const ScheduleConfig& schedule) {
  Round round;
  round.id = record.round;
  round.group = record.group;
  round.mode = record.mode;
  round.collective = record.collective;
  round.density = record.density;
  round.first_step = record.first_step;
  round.length = record.length;
  round.rates = RatesOf(schedule, record.first_step, record.length);
  if (record.so_far) {
    round.so_far = *record.so_far;
  } else {
    round.so_far.ledger = committed;
  }
  round.rate_first = RateAt(schedule, static_cast<int64_t>(round.first_step - round.so_far.steps));
  for (size_t rank = 0; rank < members.size(); ++rank) {
    round.members.push_back({.name = members[rank].name,
                             .incarnation = members[rank].incarnation,
                             .runs = record.runs[rank],
                             .batch = record.batches[rank]});
  }
  round.tail_dropped = record.tail_dropped;
  round.after = record.after;
  round.base_hash = record.base_hash;
  round.evaluation_due = record.evaluation_due;
  round.save_due = record.save_due;
  round.adopted = true;
  round.ordered_at = record.at;
  return round;
}

absl::Status CheckRates(const OrderRecord& record, const ScheduleConfig& schedule) {
  const std::vector<double> rates = RatesOf(schedule, record.first_step, record.length);
  if (HashRates(rates) == record.rates_hash) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "this program computes other learning rates than the one that began round {} (steps {} to "
      "{}; the first rate is {} here, {} in the journal): the run would no longer be the one that "
      "was started; go on with the program that started it, or start anew with another --state "
      "directory",
      record.round, record.first_step, record.first_step + record.length,
      rates.empty() ? 0 : rates.front(), record.rate_first));
}

Reduce ReduceOf(const Round& round) {
  Reduce reduce{round.attempt->group, round.id, round.attempt->number, {}};
  for (const Contribution& contribution : round.attempt->contributions) {
    reduce.contributors.push_back(
        {static_cast<uint32_t>(reduce.contributors.size()), contribution.weight});
  }
  return reduce;
}

uint64_t HashRates(const std::vector<double>& rates) {
  uint64_t hash = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    hash += Mix64(std::bit_cast<uint64_t>(rates[i]) + i * kSplitMix64Gamma);
  }
  return hash;
}

namespace {

void AddSparse(const SparseStats& stats, CommitRecord& commit) {
  if (!commit.sparse) commit.sparse = SparseStats{};
  SparseStats& sum = *commit.sparse;
  sum.selected += stats.selected;
  sum.region_entries += stats.region_entries;
  sum.merged += stats.merged;
  // Alike on all that took part in every step; who was not finite in one may have seen fewer.
  sum.reductions = std::max(sum.reductions, stats.reductions);
  sum.delivered = std::max(sum.delivered, stats.delivered);
  sum.largest_part = std::max(sum.largest_part, stats.largest_part);
  sum.cuts = std::max(sum.cuts, stats.cuts);
  sum.thresholds = std::max(sum.thresholds, stats.thresholds);
  sum.rebalanced = std::max(sum.rebalanced, stats.rebalanced);
  commit.largest_region = std::max(commit.largest_region, stats.region_entries);
}

// Adds what the reductions cost, as one contributor says.
void AddReduction(const ReduceFacts& reduced, CommitRecord& commit) {
  commit.reduce_seconds = std::max(commit.reduce_seconds, reduced.reduce_seconds);
  for (const PhaseCost& cost : reduced.costs) {
    commit.bytes_sent += cost.bytes_sent;
    PhaseCost& sum = AddTraffic(cost, &commit.costs);
    sum.seconds = std::max(sum.seconds, cost.seconds);
  }
  if (reduced.sparse) AddSparse(*reduced.sparse, commit);
}

// Adds what the contributors measured.
void AddMeasurements(const Round& round, uint64_t hash, absl::Time now, CommitRecord& commit) {
  double loss_sum = 0;
  double weight_sum = 0;
  for (const Contribution& contribution : round.attempt->contributions) {
    const RoundMember& member = round.members[contribution.member];
    if (member.ready) {
      commit.step_seconds = std::max(commit.step_seconds, member.ready->step_seconds);
      if (contribution.weight > 0 && round.length > 0) {
        loss_sum += contribution.weight * member.ready->loss_sum;
        weight_sum += contribution.weight * static_cast<double>(round.length);
      }
    }
    if (!contribution.reduced) continue;
    const ReduceFacts& reduced = *contribution.reduced;
    AddReduction(reduced, commit);
    if (reduced.state_hash != hash) continue;
    commit.parameter_norm_squared = reduced.parameter_norm_squared;
    commit.residual_norm_squared += reduced.residual_norm_squared;
  }
  // Over the open order's steps, of their batches' mean loss; then over all the round's.
  const double order_sum =
      weight_sum > 0 ? loss_sum / weight_sum * static_cast<double>(round.length) : 0;
  const uint64_t loss_steps = round.so_far.loss_steps + (weight_sum > 0 ? round.length : 0);
  if (loss_steps > 0) {
    commit.mean_loss = (round.so_far.loss_sum + order_sum) / static_cast<double>(loss_steps);
  }
  commit.seconds = absl::ToDoubleSeconds(now - round.ordered_at);
  commit.control_seconds =
      std::max(0.0, commit.seconds - commit.step_seconds - commit.reduce_seconds);
}

}  // namespace

CommitRecord DecideCommit(const Round& round, uint64_t hash, absl::Time now) {
  CommitRecord commit;
  commit.round = round.id;
  commit.group = round.attempt->group;
  commit.attempt = round.attempt->number;
  commit.attempts = std::max<uint32_t>(1, round.attempts) + round.so_far.orders;
  commit.mode = round.mode;
  commit.first_step = round.first_step - round.so_far.steps;
  commit.length = round.length + round.so_far.steps;
  commit.rate_first = round.rate_first;
  commit.collective = round.collective;
  commit.density = round.density;
  commit.reductions = round.mode == RoundMode::kParallel ? round.length : 1;
  commit.state_hash = hash;
  commit.ledger = round.after;
  commit.at = now;
  commit.contributors = round.so_far.contributors;
  commit.samples = round.so_far.samples;
  for (const RoundMember& member : round.members) commit.members.push_back(member.name);
  std::set<size_t> taking_part;
  for (const Contribution& contribution : round.attempt->contributions) {
    const RoundMember& member = round.members[contribution.member];
    taking_part.insert(contribution.member);
    if (!IsFinite(member)) {
      DropSamples(member.runs, commit.ledger);
      continue;
    }
    commit.contributors.push_back(member.name);
    commit.samples += CountSamples(member.runs);
  }
  for (size_t i = 0; i < round.members.size(); ++i) {
    if (!taking_part.contains(i)) ReturnSamples(round.members[i].runs, commit.ledger);
  }
  std::sort(commit.contributors.begin(), commit.contributors.end());
  commit.contributors.erase(std::unique(commit.contributors.begin(), commit.contributors.end()),
                            commit.contributors.end());
  AddMeasurements(round, hash, now, commit);
  return commit;
}

}  // namespace rondo::server
