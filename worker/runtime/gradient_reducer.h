// The collective of a step in parallel mode (DESIGN 3 and rules 15, 18).
#ifndef RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
#define RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"

namespace rondo::worker {

// Weighted means of flat vectors in which a member without a finite value takes no part. The buffer
// carries the member's factor at its end, so that one all-reduce sums both. Two buffers in turn:
// the last result stays while the next one is made, for members that must be helped after a
// failure. Threads: one. Memory: 8 bytes an element.
class GradientReducer {
 public:
  explicit GradientReducer(int64_t size) : size_(size) {}

  // (sum over ranks of factor_i * values_i) / (sum over ranks of factor_i), the same bits on every
  // rank; `factor` 0: zeros are sent, whatever `values` holds. The span is valid until the call
  // after the next. Cost: one pass and one all-reduce of size + 1 floats. Errors: the
  // communicator's; DataLoss naming the step when all factors are 0. After an error the
  // last result is still the one before.
  absl::StatusOr<DeviceSpan<float>> Reduce(const CallId& call, DeviceSpan<const float> values,
                                           float factor, absl::Duration timeout,
                                           Communicator* group);

  // The step of the last result, if there is one.
  std::optional<int64_t> last_step() const { return last_step_; }
  DeviceSpan<float> last_result() { return View(last_); }
  // A result that a peer passed on is written into this, then accepted as that of `step`.
  DeviceSpan<float> incoming() { return View(1 - last_); }
  void Accept(int64_t step) {
    last_ = 1 - last_;
    last_step_ = step;
  }
  void Forget() { last_step_.reset(); }

 private:
  // Memory comes with the first use: a job of local rounds needs none.
  std::vector<float>& Buffer(int which) {
    buffers_[which].resize(static_cast<size_t>(size_) + 1);
    return buffers_[which];
  }
  DeviceSpan<float> View(int which) { return {Buffer(which).data(), size_}; }

  const int64_t size_;
  std::vector<float> buffers_[2];
  int last_ = 0;
  std::optional<int64_t> last_step_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_GRADIENT_REDUCER_H_
