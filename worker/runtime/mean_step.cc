#include "worker/runtime/mean_step.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::worker {

absl::Status StepWithMean(double rate, GradientReducer* gradients, MemberState* state) {
  Engine& engine = state->engine();
  DeviceSpan<float> mean = gradients->last_result();
  if (state->optimizer().clips()) {  // In place: what is passed on must not be clipped twice.
    std::copy(mean.data, mean.data + mean.size, engine.gradients().data);
    mean = engine.gradients();
  }
  const std::vector<uint8_t> has_gradient = gradients->last_has_gradient();
  return state->optimizer().Step(engine.parameters(), mean, rate, has_gradient);
}

}  // namespace rondo::worker
