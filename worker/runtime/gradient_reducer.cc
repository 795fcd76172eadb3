#include "worker/runtime/gradient_reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/accumulate.h"

namespace rondo::worker {

absl::StatusOr<DeviceSpan<float>> GradientReducer::Reduce(const CallId& call,
                                                          DeviceSpan<const float> values,
                                                          float factor, absl::Duration timeout,
                                                          Communicator* group) {
  std::vector<float>& buffer = Buffer(1 - last_);
  if (factor == 0) {
    std::fill(buffer.begin(), buffer.end(), 0.0f);
  } else if (factor == 1) {
    if (size_ > 0) std::memcpy(buffer.data(), values.data, size_ * sizeof(float));
  } else {
    RETURN_IF_ERROR(AssignScaled(incoming(), factor, values));
  }
  buffer[size_] = factor;
  RETURN_IF_ERROR(group->AllReduceSum(call, DeviceSpan<float>(buffer.data(), size_ + 1), timeout));
  const float sum = buffer[size_];
  if (!(sum > 0)) {
    return absl::DataLossError(
        fmt::format("no member has a finite value in step {}", call.attempt_or_step));
  }
  if (sum != 1) RETURN_IF_ERROR(Scale(incoming(), 1 / sum));
  Accept(call.attempt_or_step);
  return last_result();
}

}  // namespace rondo::worker
