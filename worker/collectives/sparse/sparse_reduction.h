// What the sparse reductions offer beside Reduction: the last result in its sparse form, for a
// member that missed it, and what checkpoints keep.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REDUCTION_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REDUCTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/collectives/sparse/sparse_report.h"

namespace rondo {

class SparseReduction : public Reduction {
 public:
  // Entries a member selects at most. SetK, a schedule of the density: from the next Reduce on, on
  // all members. InvalidArgument below 1.
  virtual int64_t k() const = 0;
  virtual absl::Status SetK(int64_t k) = 0;

  // After a Reduce that succeeded, until Commit: the residual that it staged.
  virtual DeviceSpan<const float> staged_residual() = 0;

  // For checkpoints; not between Reduce and Commit. Set: the caller vouches that all members set
  // what they saved in the same step, in the same ranks. Members that differ find it afresh.
  virtual const SparseAgreed& agreed() const = 0;
  virtual void SetAgreed(SparseAgreed agreed) = 0;

  // The last successful Reduce's G, and the sum of factors: what a member must be given that failed
  // where others got through (rule 18 of proto/RULES.md).
  virtual DeviceSpan<const SparseEntry> result() const = 0;
  virtual float factor_sum() const = 0;
  // Takes another member's result for the step in which this one's last Reduce failed, and stages
  // as Reduce would have. Errors: FailedPrecondition if the last Reduce hadn't yet selected or
  // succeeded; InvalidArgument for entries that aren't ascending within the vector.
  virtual absl::Status Adopt(DeviceSpan<const SparseEntry> result, float factor_sum,
                             DeviceSpan<float> mean) = 0;

  // Of the last Reduce, also of a failed one.
  virtual const SparseReport& report() const = 0;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REDUCTION_H_
