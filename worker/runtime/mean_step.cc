#include "worker/runtime/mean_step.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/status_macros.h"
#include "worker/runtime/error_feedback.h"

namespace rondo::worker {

absl::Status StepWithMean(double rate, GradientReducer* gradients, MemberState* state) {
  Engine& engine = state->engine();
  DeviceSpan<float> mean = gradients->last_result();
  if (state->optimizer().clips()) {  // In place: what is passed on must not be clipped twice.
    std::copy(mean.data, mean.data + mean.size, engine.gradients().data);
    mean = engine.gradients();
  }
  const std::vector<uint8_t> has_gradient = gradients->last_has_gradient();
  RETURN_IF_ERROR(state->optimizer().Step(engine.parameters(), mean, rate, has_gradient));
  state->feedback().Commit();
  return absl::OkStatus();
}

}  // namespace rondo::worker
