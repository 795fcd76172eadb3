// The mean of a flat vector over a group: what a job's `collective.kind` chooses. Dense ring,
// sparse all-reduce and all-gather of everybody's top k stand behind this one interface.
//
// A reduction may keep a residual: what a member had to give and the group didn't take. It comes
// back in the next input. Reduce only *stages* the next residual; it becomes the residual at
// Commit, with the update that the mean belongs to. A Reduce that fails, or whose mean is not
// applied, leaves everything as it was: the next attempt gives the same bytes.
#ifndef RONDO_WORKER_COLLECTIVES_REDUCTION_H_
#define RONDO_WORKER_COLLECTIVES_REDUCTION_H_

#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// What one member brings.
struct ReductionInput {
  DeviceSpan<const float> values = {};  // [n]; read only if `factor` isn't 0
  // The values' weight w_i*P/W: 1 when all take the same number of samples. 0: this
  // member takes no part; it sends nothing and keeps its residual.
  float factor = 1;
  // A few small numbers of this member, as many on every rank, such as which parameter tensors had
  // a gradient: become the sums over all ranks, the same bytes on every rank.
  std::span<float> extras = {};
};

// Threads: one owner. Ownership: borrows what it is given for the length of a call.
class Reduction {
 public:
  virtual ~Reduction() = default;

  // mean = (sum over ranks of what the group takes of residual_i + factor_i * values_i) / (sum over
  // ranks of factor_i), the same bytes on every rank. `call` names round and step or attempt; its
  // phase is that of a dense sum, sparse phases are set here. `mean`, [n], doesn't overlap
  // `values`. Every rank of `group` calls it; each blocking call within may take `timeout`.
  // Errors: the communicator's, which break the group; InvalidArgument, the same on every rank,
  // where members differ in n or k, and DataLoss, the same on every rank, naming the members, where
  // values or sums aren't finite or no member takes part: these leave the group usable. After any
  // error `mean` and extras hold rubbish and nothing is staged.
  virtual absl::Status Reduce(const CallId& call, const ReductionInput& input,
                              DeviceSpan<float> mean, absl::Duration timeout,
                              Communicator* group) = 0;

  // The last mean was applied: what it staged holds from now on. Nothing to do if nothing is
  // staged.
  virtual void Commit() = 0;

  // The members have changed, or a state was restored: whatever they had agreed on is forgotten.
  // The residual stays.
  virtual void BeginGroup() = 0;

  // [n], or empty if this reduction keeps none. For checkpoints, norms, and restoring: not to be
  // written between Reduce and Commit.
  virtual DeviceSpan<float> residual() = 0;

 protected:
  Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_REDUCTION_H_
