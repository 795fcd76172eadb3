#include "kernels/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/span.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

struct Oracle {
  std::vector<double> weight;
  std::vector<double> velocity;

  void Step(const SgdParams& p, const std::vector<float>& grad) {
    for (size_t i = 0; i < weight.size(); ++i) {
      const double d = grad[i] + double{p.weight_decay} * weight[i];
      velocity[i] = double{p.momentum} * velocity[i] + d;
      const double direction = p.nesterov ? d + double{p.momentum} * velocity[i] : velocity[i];
      weight[i] -= double{p.learning_rate} * direction;
    }
  }
};

// Each float32 operation of a step is off by at most 2^-24 of its result; three steps of at most
// six operations on values below 32 give less than 18 * 32 * 2^-24 = 3.5e-5.
constexpr double kTolerance = 3.5e-5;

class SgdTest : public KernelTest {
 protected:
  void ThreeStepsFollowTheOracle(const SgdParams& params) {
    const std::vector<float> start = NormalFloats(size(), 1);
    TestBuffer weight(device(), start);
    TestBuffer velocity(device(), std::vector<float>(start.size(), 0.0f));
    Oracle oracle{{start.begin(), start.end()}, std::vector<double>(start.size(), 0.0)};
    for (uint32_t step = 0; step < 3; ++step) {
      TestBuffer grad(device(), NormalFloats(size(), 10 + step));
      ASSERT_OK(
          Sgd(params, {.weight = weight.span(),
                       .grad = grad.span(),
                       .velocity = params.momentum == 0 ? DeviceSpan<float>{} : velocity.span()}));
      oracle.Step(params, grad.Values());
      EXPECT_EQ(grad.Values(), NormalFloats(size(), 10 + step));
      EXPECT_TRUE(grad.CanariesLive());
    }
    EXPECT_TRUE(weight.CanariesLive());
    EXPECT_TRUE(velocity.CanariesLive());
    const std::vector<float> weights = weight.Values();
    const std::vector<float> velocities = velocity.Values();
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], oracle.weight[i], kTolerance) << "at " << i;
      if (params.momentum != 0) {
        ASSERT_NEAR(velocities[i], oracle.velocity[i], kTolerance) << "at " << i;
      }
    }
  }
};

TEST_P(SgdTest, WithoutMomentumDescendsTheGradient) {
  ThreeStepsFollowTheOracle({.learning_rate = 0.1f});
}

TEST_P(SgdTest, WeightDecayIsAddedToTheGradient) {
  ThreeStepsFollowTheOracle({.learning_rate = 0.1f, .weight_decay = 0.01f});
}

TEST_P(SgdTest, MomentumGathersGradients) {
  ThreeStepsFollowTheOracle({.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f});
}

TEST_P(SgdTest, NesterovLooksAhead) {
  ThreeStepsFollowTheOracle(
      {.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true});
}

TEST_P(SgdTest, GivesTheBitsOfTheBaselinePath) {
  const SgdParams params{
      .learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true};
  std::vector<float> results[2];
  for (std::vector<float>& result : results) {
    const ScopedCpuPath scope(&result == &results[0] ? CpuPath::kBaseline : path());
    TestBuffer weight(device(), NormalFloats(size(), 1));
    TestBuffer grad(device(), NormalFloats(size(), 2));
    TestBuffer velocity(device(), NormalFloats(size(), 3));
    ASSERT_OK(Sgd(params, {weight.span(), grad.span(), velocity.span()}));
    result = weight.Values();
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_P(SgdTest, ARateOfZeroLeavesTheWeights) {
  TestBuffer weight(device(), NormalFloats(size(), 1));
  TestBuffer grad(device(), NormalFloats(size(), 2));
  ASSERT_OK(Sgd({.learning_rate = 0}, {weight.span(), grad.span(), {}}));
  EXPECT_EQ(weight.Values(), NormalFloats(size(), 1));
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, SgdTest, AllKernelCases());

TEST(SgdArgumentsTest, SizesThatDifferAreRefusedAndNothingIsWritten) {
  TestBuffer weight({}, {1, 2, 3});
  TestBuffer grad({}, {1, 1, 1});
  TestBuffer velocity({}, {0, 0});
  EXPECT_THAT(
      Sgd({.learning_rate = 1, .momentum = 0.9f}, {weight.span(), grad.span(), velocity.span()}),
      StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("velocity")));
  EXPECT_EQ(weight.Values(), (std::vector<float>{1, 2, 3}));
}

TEST(SgdArgumentsTest, NesterovNeedsMomentum) {
  TestBuffer weight({}, {1});
  TestBuffer grad({}, {1});
  EXPECT_THAT(Sgd({.learning_rate = 1, .nesterov = true}, {weight.span(), grad.span(), {}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SgdArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  EXPECT_THAT(Sgd({.learning_rate = 1, .momentum = 0.9f}, {span, span, span}),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("cuda")));
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace rondo
