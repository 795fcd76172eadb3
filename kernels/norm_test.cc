#include "kernels/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/span.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class NormTest : public KernelTest {};

TEST_P(NormTest, SumsTheSquares) {
  const std::vector<float> values = NormalFloats(size(), 1);
  long double expected = 0;
  for (const float value : values) expected += static_cast<long double>(value) * value;
  TestBuffer x(device(), values);
  ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(x.span()));
  // Squares are exact in double; a lane of n/32 sums of positive terms is off by at most n/32 *
  // 2^-53 of itself.
  EXPECT_NEAR(norm.squared, static_cast<double>(expected), 1e-12 * static_cast<double>(expected));
  EXPECT_TRUE(norm.finite);
  EXPECT_TRUE(x.CanariesLive());
}

TEST_P(NormTest, GivesTheBitsOfTheStatedOrder) {
  const std::vector<float> values = NormalFloats(size(), 1);
  double lanes[kNormLanes] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    lanes[i % kNormLanes] += double{values[i]} * double{values[i]};
  }
  for (int half = kNormLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  TestBuffer x(device(), values);
  ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(x.span()));
  EXPECT_EQ(norm.squared, lanes[0]);
}

TEST_P(NormTest, LargeAndTinyValuesNeitherOverflowNorVanish) {
  TestBuffer large(device(), std::vector<float>(size(), std::numeric_limits<float>::max()));
  TestBuffer tiny(device(), std::vector<float>(size(), std::numeric_limits<float>::denorm_min()));
  ASSERT_OK_AND_ASSIGN(const Norm large_norm, ComputeNorm(large.span()));
  ASSERT_OK_AND_ASSIGN(const Norm tiny_norm, ComputeNorm(tiny.span()));
  EXPECT_TRUE(large_norm.finite);
  EXPECT_TRUE(tiny_norm.finite);
  EXPECT_EQ(tiny_norm.squared > 0, size() > 0);
  EXPECT_THAT(IsFinite(large.span()), testing::Property(&absl::StatusOr<bool>::value, true));
}

TEST_P(NormTest, OneElementThatIsNotFiniteIsFoundWhereverItStands) {
  if (size() == 0) return;
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
    for (const int64_t at : {int64_t{0}, size() / 2, size() - 1}) {
      std::vector<float> values = NormalFloats(size(), 1);
      values[static_cast<size_t>(at)] = bad;
      TestBuffer x(device(), values);
      ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(x.span()));
      ASSERT_OK_AND_ASSIGN(const bool finite, IsFinite(x.span()));
      EXPECT_FALSE(norm.finite) << bad << " at " << at;
      EXPECT_FALSE(finite) << bad << " at " << at;
    }
  }
}

TEST_P(NormTest, FiniteValuesAreFinite) {
  TestBuffer x(device(), NormalFloats(size(), 1));
  ASSERT_OK_AND_ASSIGN(const bool finite, IsFinite(x.span()));
  EXPECT_TRUE(finite);
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, NormTest, AllKernelCases());

TEST(NormArgumentsTest, ANullPointerIsRefused) {
  EXPECT_THAT(ComputeNorm({nullptr, 3}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(IsFinite({nullptr, 3}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(NormArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  EXPECT_THAT(ComputeNorm(span), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(IsFinite(span), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
