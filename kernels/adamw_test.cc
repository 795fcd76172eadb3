#include "kernels/adamw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
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
  std::vector<double> first;
  std::vector<double> second;

  void Step(const AdamwOptions& o, const std::vector<float>& grad) {
    const double t = static_cast<double>(o.step);
    for (size_t i = 0; i < weight.size(); ++i) {
      const double g = grad[i];
      weight[i] *= 1 - o.learning_rate * o.weight_decay;
      first[i] = o.beta1 * first[i] + (1 - o.beta1) * g;
      second[i] = o.beta2 * second[i] + (1 - o.beta2) * g * g;
      const double denominator = std::sqrt(second[i]) / std::sqrt(1 - std::pow(o.beta2, t)) + o.eps;
      weight[i] -= o.learning_rate / (1 - std::pow(o.beta1, t)) * first[i] / denominator;
    }
  }
};

// Weights below 8, three steps, three roundings a step of at most 2^-24 of the weight: 4.3e-6. The
// update itself, at most 0.1 a step, adds some ten roundings of its own: below 2e-7.
constexpr double kWeightTolerance = 4.5e-6;
// Relative to values of the size of 1: moments take at most nine roundings in three steps.
constexpr double kMomentTolerance = 2e-6;

class AdamwTest : public KernelTest {
 protected:
  void ThreeStepsFollowTheOracle(AdamwOptions options) {
    const std::vector<float> start = NormalFloats(size(), 1);
    const std::vector<double> zeros(start.size(), 0.0);
    TestBuffer weight(device(), start);
    TestBuffer first(device(), std::vector<float>(start.size(), 0.0f));
    TestBuffer second(device(), std::vector<float>(start.size(), 0.0f));
    Oracle oracle{{start.begin(), start.end()}, zeros, zeros};
    for (int64_t step = 1; step <= 3; ++step) {
      options.step = step;
      TestBuffer grad(device(), NormalFloats(size(), static_cast<uint32_t>(step)));
      ASSERT_OK_AND_ASSIGN(const AdamwParams params, MakeAdamwParams(options));
      ASSERT_OK(Adamw(params, {.weight = weight.span(),
                               .grad = grad.span(),
                               .first_moment = first.span(),
                               .second_moment = second.span()}));
      oracle.Step(options, grad.Values());
      EXPECT_TRUE(grad.CanariesLive());
    }
    EXPECT_TRUE(weight.CanariesLive() && first.CanariesLive() && second.CanariesLive());
    const std::vector<float> weights = weight.Values(), firsts = first.Values(),
                             seconds = second.Values();
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], oracle.weight[i], kWeightTolerance) << "at " << i;
      ASSERT_NEAR(firsts[i], oracle.first[i], kMomentTolerance) << "at " << i;
      ASSERT_NEAR(seconds[i], oracle.second[i], kMomentTolerance) << "at " << i;
    }
  }
};

TEST_P(AdamwTest, FollowsTheOracle) { ThreeStepsFollowTheOracle({.learning_rate = 0.01}); }

TEST_P(AdamwTest, DecaysTheWeightsApartFromTheGradient) {
  ThreeStepsFollowTheOracle({.learning_rate = 0.02, .weight_decay = 0.1});
}

TEST_P(AdamwTest, TakesOtherBetasAndEps) {
  ThreeStepsFollowTheOracle({.learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3});
}

TEST_P(AdamwTest, GivesTheBitsOfTheBaselinePath) {
  ASSERT_OK_AND_ASSIGN(const AdamwParams params,
                       MakeAdamwParams({.learning_rate = 0.01, .weight_decay = 0.1, .step = 7}));
  std::vector<float> results[2];
  for (std::vector<float>& result : results) {
    const ScopedCpuPath scope(&result == &results[0] ? CpuPath::kBaseline : path());
    TestBuffer weight(device(), NormalFloats(size(), 1));
    TestBuffer grad(device(), NormalFloats(size(), 2));
    TestBuffer first(device(), NormalFloats(size(), 3));
    std::vector<float> squares = NormalFloats(size(), 4);
    for (float& square : squares) square *= square;
    TestBuffer second(device(), squares);
    ASSERT_OK(Adamw(params, {weight.span(), grad.span(), first.span(), second.span()}));
    result = weight.Values();
  }
  EXPECT_EQ(results[0], results[1]);
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, AdamwTest, AllKernelCases());

TEST(AdamwStepTest, AGradientOfZeroFromTheStartMovesNothing) {
  TestBuffer weight({}, {1, -2}), grad({}, {0, 0}), first({}, {0, 0}), second({}, {0, 0});
  ASSERT_OK_AND_ASSIGN(const AdamwParams params, MakeAdamwParams({.learning_rate = 0.1}));
  ASSERT_OK(Adamw(params, {weight.span(), grad.span(), first.span(), second.span()}));
  EXPECT_EQ(weight.Values(), (std::vector<float>{1, -2}));
}

TEST(AdamwStepTest, TheFirstStepMovesByTheRateAgainstTheSign) {
  TestBuffer weight({}, {1, 1}), grad({}, {1e-3f, -40}), first({}, {0, 0}), second({}, {0, 0});
  ASSERT_OK_AND_ASSIGN(const AdamwParams params, MakeAdamwParams({.learning_rate = 0.25}));
  ASSERT_OK(Adamw(params, {weight.span(), grad.span(), first.span(), second.span()}));
  EXPECT_NEAR(weight.Values()[0], 0.75, 1e-5);  // eps takes 1e-5 of a gradient of 1e-3
  EXPECT_NEAR(weight.Values()[1], 1.25, 1e-6);
}

TEST(AdamwParamsTest, TheBiasIsComputedInDouble) {
  ASSERT_OK_AND_ASSIGN(const AdamwParams first, MakeAdamwParams({.learning_rate = 0.1}));
  EXPECT_FLOAT_EQ(first.step_size, 1.0f);
  EXPECT_FLOAT_EQ(first.inverse_sqrt_bias2, 31.622776f);
  EXPECT_EQ(first.one_minus_beta2, static_cast<float>(1 - 0.999));
  ASSERT_OK_AND_ASSIGN(const AdamwParams late,
                       MakeAdamwParams({.learning_rate = 0.1, .step = 1'000'000'000}));
  EXPECT_EQ(late.step_size, 0.1f);
  EXPECT_EQ(late.inverse_sqrt_bias2, 1.0f);
}

TEST(AdamwParamsTest, OptionsOutOfRangeAreRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    AdamwOptions options;
    const char* name;
  } cases[] = {
      {{.learning_rate = -1}, "learning_rate"},
      {{.learning_rate = nan}, "learning_rate"},
      {{.beta1 = 1}, "beta1"},
      {{.beta2 = -0.1}, "beta2"},
      {{.beta2 = nan}, "beta2"},
      {{.eps = -1}, "eps"},
      {{.weight_decay = -1}, "weight_decay"},
      {{.step = 0}, "step"},
  };
  for (const auto& each : cases) {
    EXPECT_THAT(MakeAdamwParams(each.options),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(each.name)));
  }
}

TEST(AdamwArgumentsTest, SizesThatDifferAreRefused) {
  TestBuffer weight({}, {1, 2}), grad({}, {1, 1}), first({}, {0, 0}), second({}, {0});
  EXPECT_THAT(Adamw({}, {weight.span(), grad.span(), first.span(), second.span()}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("second_moment")));
}

TEST(AdamwArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  EXPECT_THAT(Adamw({}, {span, span, span, span}),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("cuda")));
}

}  // namespace
}  // namespace rondo
