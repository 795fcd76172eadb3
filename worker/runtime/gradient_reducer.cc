#include "worker/runtime/gradient_reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/accumulate.h"

namespace rondo::worker {

absl::StatusOr<DeviceSpan<float>> GradientReducer::Reduce(const CallId& call,
                                                          const ReducerInput& input,
                                                          absl::Duration timeout,
                                                          Communicator* group) {
  const float factor = input.factor;
  FlatFloats& buffer = Buffer(1 - last_);
  const DeviceSpan<float> values(buffer.data(), size_);
  if (factor == 0) {
    std::fill(buffer.begin(), buffer.end(), 0.0f);
  } else if (factor == 1) {
    if (size_ > 0) std::memcpy(values.data, input.values.data, size_ * sizeof(float));
  } else {
    RETURN_IF_ERROR(AssignScaled(values, factor, input.values));
  }
  for (int64_t t = 0; factor != 0 && t < tensors_; ++t) {
    buffer[size_ + t] = input.has_gradient[t] != 0 ? 1.0f : 0.0f;
  }
  buffer[size_ + tensors_] = factor;
  RETURN_IF_ERROR(group->AllReduceSum(call, Whole(1 - last_), timeout));
  const float sum = buffer[size_ + tensors_];
  if (!(sum > 0)) {
    return absl::DataLossError(
        fmt::format("no member has a finite value in step {}", call.attempt_or_step));
  }
  if (sum != 1) RETURN_IF_ERROR(Scale(values, 1 / sum));
  Accept(call.attempt_or_step);
  return last_result();
}

std::vector<uint8_t> GradientReducer::last_has_gradient() {
  std::vector<uint8_t> has(tensors_);
  const float* counts = Buffer(last_).data() + size_;
  for (int64_t t = 0; t < tensors_; ++t) has[t] = counts[t] > 0 ? 1 : 0;
  return has;
}

}  // namespace rondo::worker
