#include "worker/runtime/local_reduce.h"

#include <fmt/format.h>

#include "common/status_macros.h"
#include "kernels/norm.h"
#include "worker/runtime/costs.h"

namespace rondo::worker {
namespace {

struct Shares {
  float own_factor = 0;
  int first_with_weight = 0;
};

absl::StatusOr<Shares> ComputeShares(const Reduce& reduce, int rank, int size) {
  if (reduce.contributors.size() != static_cast<size_t>(size)) {
    return absl::InvalidArgumentError(
        fmt::format("round {} is to be reduced by {} contributors, but group {} has {} members",
                    reduce.round, reduce.contributors.size(), reduce.group, size));
  }
  double sum = 0;
  Shares shares{.own_factor = 0, .first_with_weight = -1};
  for (int i = 0; i < size; ++i) {
    const double weight = reduce.contributors[i].weight;
    sum += weight;
    if (weight > 0 && shares.first_with_weight < 0) shares.first_with_weight = i;
  }
  if (shares.first_with_weight < 0) {
    return absl::DataLossError(
        fmt::format("no contributor of round {} has a weight: none is finite", reduce.round));
  }
  shares.own_factor = ContributionFactor(reduce.contributors[rank].weight, sum, size);
  return shares;
}

}  // namespace

float ContributionFactor(double weight, double weight_sum, int members) {
  if (weight * members == weight_sum) return 1;
  return static_cast<float>(weight * members / weight_sum);
}

absl::Status ShareIntegers(const CallId& call, int root, absl::Duration timeout,
                           Communicator* group, std::span<int64_t> integers) {
  if (integers.empty()) return absl::OkStatus();
  const DeviceSpan<int64_t> span(integers.data(), static_cast<int64_t>(integers.size()));
  return group->Broadcast(call, root, AsWritableBytes(span), timeout);
}

absl::StatusOr<Reduced> ReduceLocal(const Reduce& reduce, absl::Duration timeout, Clock* clock,
                                    Communicator* group, MemberState* state) {
  const absl::Time began = clock->Now();
  const int size = group->size();
  ASSIGN_OR_RETURN(const Shares shares, ComputeShares(reduce, group->rank(), size));
  if (shares.own_factor > 0) {
    RETURN_IF_ERROR(state->StageWorking(shares.own_factor));
  } else {
    state->StageZeros();
  }
  CallId call{.round = static_cast<int64_t>(reduce.round.value),
              .attempt_or_step = reduce.attempt,
              .phase = rondo::Phase::kParameters};
  Reduced reduced;
  reduced.group = reduce.group;
  reduced.round = reduce.round;
  reduced.attempt = reduce.attempt;
  CostMeter meter(*group, clock);
  RETURN_IF_ERROR(group->AllReduceSum(call, state->staging(), timeout));
  reduced.reduced.costs.push_back(meter.Read(CostPhase::kReduce, 1));
  if (!state->staged_integers().empty()) {
    meter.Restart();
    call.phase = rondo::Phase::kBuffers;
    RETURN_IF_ERROR(
        ShareIntegers(call, shares.first_with_weight, timeout, group, state->staged_integers()));
    reduced.reduced.costs.push_back(meter.Read(CostPhase::kBuffers, 1));
  }
  ASSIGN_OR_RETURN(
      reduced.reduced.state_hash,
      size > 1 ? state->ScaleStaged(1.0f / static_cast<float>(size)) : state->HashStaged());
  ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(state->staged_parameters()));
  reduced.reduced.parameter_norm_squared = norm.squared;
  ASSIGN_OR_RETURN(const bool moments_finite, state->MomentsAreFinite());
  reduced.finite = norm.finite && moments_finite;
  reduced.reduced.reduce_seconds = absl::ToDoubleSeconds(clock->Now() - began);
  return reduced;
}

}  // namespace rondo::worker
