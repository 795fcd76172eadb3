// The reduce at the end of a local round (rule 5 of proto/RULES.md): the weighted mean of the
// members' working states, into staging. Nothing else changes. When the order is sparse: the
// round's starting parameters and the sparse mean of what the members moved from them, while
// buffers and moments are averaged densely; the residual that goes with it is staged, too.
#ifndef RONDO_WORKER_RUNTIME_LOCAL_REDUCE_H_
#define RONDO_WORKER_RUNTIME_LOCAL_REDUCE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/collectives/communicator.h"
#include "worker/core/messages.h"
#include "worker/runtime/member_state.h"

namespace rondo::worker {

// mean = (sum over ranks of w_i*P/W * x_i) / P, W the sum of the weights: the same bits on every
// rank, and a plain mean when all weights are equal. A contributor with weight 0 sends zeros,
// whatever it holds (rule 15). Integer buffers are those of the lowest rank that has a weight.
// Cost: one all-reduce, one copy and three scans of the state; `timeout` holds for each call.
// Sparse: the engine's gradients are overwritten. Errors: those of the communicator and of
// SparseAllReduce; DataLoss when no contributor has a weight; InvalidArgument when the contributors
// are not the group's.
absl::StatusOr<Reduced> ReduceLocal(const Reduce& reduce, absl::Duration timeout, Clock* clock,
                                    Communicator* group, MemberState* state);

// w*P/W as float, exactly 1 when all P weights are equal.
float ContributionFactor(double weight, double weight_sum, int members);

// Copies integer buffers of `root` to all. Nothing to do, and no call, when there are none.
absl::Status ShareIntegers(const CallId& call, int root, absl::Duration timeout,
                           Communicator* group, std::span<int64_t> integers);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_LOCAL_REDUCE_H_
