#include "worker/runtime/local_reduce.h"

#include <fmt/format.h>

#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/norm.h"
#include "worker/runtime/costs.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/sparse_totals.h"

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

struct LocalReduction {
  CallId call;
  Shares shares;
  absl::Duration timeout;
  Clock* clock;
  Communicator* group;
  MemberState* state;

  CallId In(rondo::Phase phase) const {
    CallId named = call;
    named.phase = phase;
    return named;
  }
  absl::Status ShareStagedIntegers() const {
    return ShareIntegers(In(rondo::Phase::kBuffers), shares.first_with_weight, timeout, group,
                         state->staged_integers());
  }
};

// The mean of all that is staged. The hash is taken on the way.
absl::Status ReduceDense(const LocalReduction& r, ReduceFacts* facts) {
  MemberState& state = *r.state;
  const float factor = r.shares.own_factor;
  if (factor > 0) {
    RETURN_IF_ERROR(state.StageWorking(factor));
  } else {
    state.StageZeros();
  }
  CostMeter meter(*r.group, r.clock);
  RETURN_IF_ERROR(r.group->AllReduceSum(r.call, state.staging(), r.timeout));
  facts->costs.push_back(meter.Read(CostPhase::kReduce, 1));
  if (!state.staged_integers().empty()) {
    meter.Restart();
    RETURN_IF_ERROR(r.ShareStagedIntegers());
    facts->costs.push_back(meter.Read(CostPhase::kBuffers, 1));
  }
  const int size = r.group->size();
  ASSIGN_OR_RETURN(facts->state_hash, size > 1 ? state.ScaleStaged(1.0f / static_cast<float>(size))
                                               : state.HashStaged());
  state.feedback().StageDelivery(factor > 0);
  return absl::OkStatus();
}

// Base and the sparse mean of what the members moved from it; buffers and moments as in
// ReduceDense.
absl::Status ReduceSparse(const LocalReduction& r, ReduceFacts* facts) {
  MemberState& state = *r.state;
  if (!state.has_base()) {
    r.group->Abort();  // The peers are already in the call.
    return absl::InternalError("a sparse reduce without the round's starting parameters");
  }
  const float factor = r.shares.own_factor;
  if (factor > 0) {
    RETURN_IF_ERROR(state.StageDelta(factor));
  } else {
    state.StageZeros();
  }
  // The round's gradients have served; nobody reads them again.
  const DeviceSpan<float> mean = state.engine().gradients();
  RETURN_IF_ERROR(state.feedback().Reduce(
      r.call, {.values = state.staged_parameters(), .factor = factor}, mean, r.timeout, r.group));
  const SparseTotals totals = state.feedback().TakeTotals();
  facts->costs = totals.Costs();
  facts->sparse = totals.stats();
  RETURN_IF_ERROR(state.StageFromBase(mean));
  CostMeter meter(*r.group, r.clock);
  const DeviceSpan<float> rest = state.staged_rest();
  if (rest.size > 0) {
    RETURN_IF_ERROR(r.group->AllReduceSum(r.In(rondo::Phase::kBuffers), rest, r.timeout));
    RETURN_IF_ERROR(Scale(rest, 1.0f / static_cast<float>(r.group->size())));
  }
  RETURN_IF_ERROR(r.ShareStagedIntegers());
  if (rest.size > 0 || !state.staged_integers().empty()) {
    facts->costs.push_back(meter.Read(CostPhase::kBuffers, 1));
  }
  ASSIGN_OR_RETURN(facts->state_hash, state.HashStaged());
  return absl::OkStatus();
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
  ASSIGN_OR_RETURN(const Shares shares, ComputeShares(reduce, group->rank(), group->size()));
  const LocalReduction reduction{.call = {.round = static_cast<int64_t>(reduce.round.value),
                                          .attempt_or_step = reduce.attempt,
                                          .phase = rondo::Phase::kParameters},
                                 .shares = shares,
                                 .timeout = timeout,
                                 .clock = clock,
                                 .group = group,
                                 .state = state};
  Reduced reduced;
  reduced.group = reduce.group;
  reduced.round = reduce.round;
  reduced.attempt = reduce.attempt;
  ReduceFacts& facts = reduced.reduced;
  RETURN_IF_ERROR(state->feedback().sparse() ? ReduceSparse(reduction, &facts)
                                             : ReduceDense(reduction, &facts));
  ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(state->staged_parameters()));
  facts.parameter_norm_squared = norm.squared;
  ASSIGN_OR_RETURN(facts.residual_norm_squared, state->feedback().StagedNormSquared());
  ASSIGN_OR_RETURN(const bool moments_finite, state->MomentsAreFinite());
  reduced.finite = norm.finite && moments_finite;
  facts.reduce_seconds = absl::ToDoubleSeconds(clock->Now() - began);
  return reduced;
}

}  // namespace rondo::worker
