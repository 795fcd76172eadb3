// The collective of a step in parallel mode (rules 15 and 18 of proto/RULES.md).
#ifndef RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
#define RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"
#include "worker/runtime/error_feedback.h"

namespace rondo::worker {

// What one member brings to a reduction. Both spans are read only if `factor` is not 0.
struct ReducerInput {
  DeviceSpan<const float> values;         // [size]
  std::span<const uint8_t> has_gradient;  // [tensors], Engine::has_gradient().
  float factor = 1;                       // 0: takes no part.
};

// A sparse step's result on its way to a member that lacks it.
struct SparseStepResult {
  SparseEntries entries;
  float factor_sum = 0;
  std::vector<float> counts;  // [tensors] Members that had a gradient.
};

// Weighted means of flat vectors in which a member without a finite value takes no part. With the
// values go one float a parameter tensor (how many members had a gradient for it) and the member's
// factor.
//   Dense: behind the values in one buffer, so that one all-reduce sums everything. Two buffers in
// turn: the last result stays while the next one is made, for members that must be helped after a
// failure.
//   Sparse, when the feedback's order is: by the feedback's reduction, which keeps the last
// result's entries; one buffer holds the mean.
// Threads: one. Memory: 8 bytes an element, sparse 4.
class GradientReducer {
 public:
  // Vectors of `size` elements. `tensor_ends`: where each parameter tensor ends in them, in order;
  // empty where the members need not agree on gradients: buffers. `feedback`, of the same size, is
  // borrowed; null: always dense.
  explicit GradientReducer(int64_t size, std::vector<int64_t> tensor_ends = {},
                           ErrorFeedback* feedback = nullptr)
      : size_(size), tensor_ends_(std::move(tensor_ends)), feedback_(feedback) {}

  // (sum over ranks of factor_i * values_i) / (sum over ranks of factor_i), the same bits on every
  // rank; sparse: what SparseAllReduce takes of it. Factor 0: zeros are sent. What the feedback
  // stages is the caller's to commit once the result is applied. The span is valid until the call
  // after the next, sparse: until the next. Cost: one pass and one all-reduce of size + tensors + 1
  // floats. Errors: the communicator's; DataLoss naming the step when all factors are 0, sparse as
  // SparseAllReduce. After an error the last result is still the one before.
  absl::StatusOr<DeviceSpan<float>> Reduce(const CallId& call, const ReducerInput& input,
                                           absl::Duration timeout, Communicator* group);

  // The step of the last result, if there is one.
  std::optional<int64_t> last_step() const { return last_step_; }
  DeviceSpan<float> last_result() { return {Buffer(last_).data(), size_}; }
  // One entry a tensor: 1 if any member that took part in the last result had a gradient for it
  // (what DistributedDataParallel with find_unused_parameters goes by), or if the result brings
  // something for it that a residual had kept.
  std::vector<uint8_t> last_has_gradient();
  void Forget() { last_step_.reset(); }

  // For a member that lacks the last result of a dense order: all that belongs to it, to send;
  // where to receive it, before Accept takes it as that of `step`. [size + tensors + 1]
  DeviceSpan<float> outgoing() { return Whole(last_); }
  DeviceSpan<float> incoming() { return Whole(1 - last_); }
  void Accept(int64_t step) {
    last_ = 1 - last_;
    last_step_ = step;
  }

  // The same of a sparse order.
  bool sparse() const { return feedback_ != nullptr && feedback_->sparse(); }
  SparseStepResult OutgoingSparse();
  // For AdoptSparse; `counts` has its size.
  SparseStepResult& incoming_sparse();
  // incoming_sparse() becomes the result of `step`, in which this member's reduction failed, and
  // the feedback stages what that reduction would have. Errors: as ErrorFeedback::Adopt.
  absl::Status AdoptSparse(int64_t step);

 private:
  int64_t tensors() const { return static_cast<int64_t>(tensor_ends_.size()); }
  // Memory comes with the first use: a job of local rounds needs none.
  FlatFloats& Buffer(int which) {
    buffers_[which].resize(static_cast<size_t>(size_ + tensors() + 1));
    return buffers_[which];
  }
  DeviceSpan<float> Whole(int which) { return {Buffer(which).data(), size_ + tensors() + 1}; }
  std::vector<float> CountsOf(const ReducerInput& input);
  absl::StatusOr<DeviceSpan<float>> ReduceSparse(const CallId& call, const ReducerInput& input,
                                                 absl::Duration timeout, Communicator* group);
  void KeepSparse(int64_t step, std::span<const float> counts);

  const int64_t size_;
  const std::vector<int64_t> tensor_ends_;
  ErrorFeedback* const feedback_;
  FlatFloats buffers_[2];
  int last_ = 0;
  std::optional<int64_t> last_step_;
  SparseStepResult incoming_sparse_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
