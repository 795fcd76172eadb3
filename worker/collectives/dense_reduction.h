// The dense mean: one all-reduce of n floats and a few, by the backend's ring. It keeps a residual
// only after a switch from a sparse reduction, until it has been delivered.
#ifndef RONDO_WORKER_COLLECTIVES_DENSE_REDUCTION_H_
#define RONDO_WORKER_COLLECTIVES_DENSE_REDUCTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/reduction.h"

namespace rondo {

// The buffer carries extras and factor behind the values, so that one all-reduce sums all. Values
// that aren't finite are summed like others: the mean shows it on every rank.
class DenseReduction final : public Reduction {
 public:
  explicit DenseReduction(int64_t size) : size_(size) {}

  absl::Status Reduce(const CallId& call, const ReductionInput& input, DeviceSpan<float> mean,
                      absl::Duration timeout, Communicator* group) override;
  void Commit() override;
  void BeginGroup() override {}
  DeviceSpan<float> residual() override {
    return {residual_.data(), static_cast<int64_t>(residual_.size())};
  }

  // What a sparse reduction has left, [n]: is added to the next input and cleared when that is
  // committed.
  void SetResidual(DeviceSpan<const float> residual);

 private:
  const int64_t size_;
  FlatFloats buffer_;    // [n + extras + 1] from the first use on
  FlatFloats residual_;  // [n] or empty
  bool staged_ = false;  // the residual is in the last mean
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_DENSE_REDUCTION_H_
