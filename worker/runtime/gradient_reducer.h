// The collective of a step in parallel mode (rules 15 and 18 of proto/RULES.md).
#ifndef RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
#define RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"

namespace rondo::worker {

// What one member brings to a reduction. Both spans are read only if `factor` is not 0.
struct ReducerInput {
  DeviceSpan<const float> values;         // [size]
  std::span<const uint8_t> has_gradient;  // [tensors], Engine::has_gradient().
  float factor = 1;                       // 0: takes no part.
};

// Weighted means of flat vectors in which a member without a finite value takes no part. The buffer
// carries, behind the values, one float a parameter tensor (how many members had a gradient for it)
// and the member's factor, so that one all-reduce sums everything. Two buffers in turn: the last
// result stays while the next one is made, for members that must be helped after a failure.
// Threads: one. Memory: 8 bytes an element.
class GradientReducer {
 public:
  // Vectors of `size` elements that belong to `tensors` parameter tensors (0 where the members
  // need not agree on gradients: buffers).
  explicit GradientReducer(int64_t size, int64_t tensors = 0) : size_(size), tensors_(tensors) {}

  // (sum over ranks of factor_i * values_i) / (sum over ranks of factor_i), the same bits on every
  // rank; factor 0: zeros are sent. The span is valid until the call after the next. Cost: one pass
  // and one all-reduce of size + tensors + 1 floats. Errors: the communicator's; DataLoss naming
  // the step when all factors are 0. After an error the last result is still the one before.
  absl::StatusOr<DeviceSpan<float>> Reduce(const CallId& call, const ReducerInput& input,
                                           absl::Duration timeout, Communicator* group);

  // The step of the last result, if there is one.
  std::optional<int64_t> last_step() const { return last_step_; }
  DeviceSpan<float> last_result() { return {Buffer(last_).data(), size_}; }
  // One entry a tensor: 1 if any member that took part in the last result had a gradient for it
  // (what DistributedDataParallel with find_unused_parameters goes by).
  std::vector<uint8_t> last_has_gradient();
  // For a member that lacks the last result: all that belongs to it, to send; where to receive it,
  // before Accept takes it as that of `step`. [size + tensors + 1]
  DeviceSpan<float> outgoing() { return Whole(last_); }
  DeviceSpan<float> incoming() { return Whole(1 - last_); }
  void Accept(int64_t step) {
    last_ = 1 - last_;
    last_step_ = step;
  }
  void Forget() { last_step_.reset(); }

 private:
  // Memory comes with the first use: a job of local rounds needs none.
  FlatFloats& Buffer(int which) {
    buffers_[which].resize(static_cast<size_t>(size_ + tensors_ + 1));
    return buffers_[which];
  }
  DeviceSpan<float> Whole(int which) { return {Buffer(which).data(), size_ + tensors_ + 1}; }

  const int64_t size_;
  const int64_t tensors_;
  FlatFloats buffers_[2];
  int last_ = 0;
  std::optional<int64_t> last_step_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
