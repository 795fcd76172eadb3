#include "server/core/continuation.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "server/core/ledger.h"

namespace rondo::server {
namespace {

uint64_t GlobalBatchOf(const Round& round) {
  uint64_t batch = 0;
  for (const RoundMember& member : round.members) batch += member.batch;
  return batch;
}

// Adds what members have said of the loss of the order's first `steps` steps.
void AddLoss(const Round& round, uint64_t steps, RoundSoFar* so_far) {
  double loss_sum = 0;
  double weight_sum = 0;
  for (const RoundMember& member : round.members) {
    if (!member.finite) continue;
    const auto batch = static_cast<double>(member.batch);
    loss_sum += batch * member.loss_sum;
    weight_sum += batch * static_cast<double>(member.loss_steps);
  }
  if (weight_sum == 0) return;
  so_far->loss_steps += steps;
  so_far->loss_sum += loss_sum / weight_sum * static_cast<double>(steps);
}

// What the round has come to if the first `steps` of its open order are done and the rest is not.
absl::StatusOr<RoundSoFar> DecideSoFar(const Round& round, uint64_t steps, uint64_t train_samples) {
  RoundSoFar so_far = round.so_far;
  so_far.orders += 1;
  if (steps == 0) return so_far;
  ASSIGN_OR_RETURN(const Share done,
                   DecideShare(round.so_far.ledger,
                               {train_samples, GlobalBatchOf(round), steps, round.members.size()}));
  so_far.steps += steps;
  so_far.ledger = done.after;
  for (size_t rank = 0; rank < round.members.size(); ++rank) {
    const RoundMember& member = round.members[rank];
    if (!member.finite) {
      DropSamples(done.runs[rank], so_far.ledger);
      continue;
    }
    so_far.samples += CountSamples(done.runs[rank]);
    so_far.contributors.push_back(member.name);
  }
  std::sort(so_far.contributors.begin(), so_far.contributors.end());
  so_far.contributors.erase(std::unique(so_far.contributors.begin(), so_far.contributors.end()),
                            so_far.contributors.end());
  AddLoss(round, steps, &so_far);
  return so_far;
}

}  // namespace

RepairDecision DecideRepair(const std::vector<Survivor>& survivors) {
  RepairDecision decision;
  for (const Survivor& survivor : survivors) {
    decision.stands_at = std::max(decision.stands_at, survivor.stands_at);
  }
  decision.step = decision.stands_at;
  for (const Survivor& survivor : survivors) {
    if (survivor.stands_at + 1 < decision.stands_at) {
      decision.left_behind.push_back(survivor.name);
      continue;
    }
    const bool behind = survivor.stands_at < decision.stands_at;
    if (behind) decision.step = survivor.stands_at;
    decision.members.push_back(
        {survivor.name, survivor.incarnation, behind ? StateNeed::kStep : StateNeed::kHolds});
  }
  return decision;
}

absl::StatusOr<Round> DecideContinuation(const Round& round, const ScheduleConfig& schedule,
                                         const ContinueRequest& request) {
  const uint64_t done = request.step - round.first_step;
  Round next = round;
  ASSIGN_OR_RETURN(next.so_far, DecideSoFar(round, done, request.train_samples));
  next.group = request.group;
  next.first_step = request.step;
  next.length = round.length - done;
  RETURN_IF_ERROR(DealOrder(
      schedule, {request.train_samples, request.global_batch, next.length, request.members.size()},
      request.members, next));
  next.missed_at = absl::InfiniteFuture();
  next.attempt.reset();
  next.broken.reset();
  return next;
}

}  // namespace rondo::server
