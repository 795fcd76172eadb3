#include "worker/runtime/mean_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "worker/collectives/group_of_one.h"
#include "worker/runtime/quadratic_job.h"

namespace rondo::worker {
namespace {

// A member that missed the step makes it from this result and clips it as the others did.
TEST(MeanStepTest, ClippingLeavesTheReducedGradientWhole) {
  QuadraticOptions options;
  options.optimizer = {.kind = OptimizerKind::kSgd, .clip_norm = 1};
  LoadedJob job = MakeQuadraticJob(options);
  MemberState state(std::move(job.engine), std::move(job.optimizer), StatePolicy::kLocal);
  GradientReducer gradients(kWidth, {kHead, kWidth});
  const std::vector<float> values(kWidth, 8.0f);
  const std::vector<uint8_t> has_gradient = {1, 1};
  const ReducerInput input{{values.data(), kWidth}, has_gradient, 1};
  ASSERT_TRUE(gradients.Reduce({}, input, absl::Seconds(1), MakeGroupOfOne().get()).ok());
  ASSERT_TRUE(StepWithMean(0.25, &gradients, &state).ok());
  for (int64_t d = 0; d < kWidth; ++d) {
    EXPECT_EQ(gradients.last_result().data[d], 8.0f);
    EXPECT_NEAR(state.engine().parameters().data[d], 3 - 0.25 / std::sqrt(kWidth), 1e-6);
  }
}

}  // namespace
}  // namespace rondo::worker
