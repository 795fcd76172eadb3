#include "kernels/accumulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/span.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

constexpr float kScale = 0.3f;

class AccumulateTest : public KernelTest {
 protected:
  AccumulateTest()
      : a_(NormalFloats(size(), 1)),
        b_(NormalFloats(size(), 2)),
        left_(device(), a_),
        right_(device(), b_) {}

  // Each operation rounds once: at most 2^-24 of a value below 16, twice.
  static constexpr double kTolerance = 2.0 * 16 / (1 << 24);

  template <typename Expected>
  void ExpectEach(const TestBuffer& buffer, const Expected& expected) {
    const std::vector<float> values = buffer.Values();
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected(double{a_[i]}, double{b_[i]}), kTolerance) << "at " << i;
    }
    EXPECT_TRUE(left_.CanariesLive() && right_.CanariesLive() && buffer.CanariesLive());
  }

  const std::vector<float> a_;
  const std::vector<float> b_;
  TestBuffer left_;
  TestBuffer right_;
};

TEST_P(AccumulateTest, AddsInPlace) {
  ASSERT_OK(Add(left_.span(), right_.span()));
  ExpectEach(left_, [](double a, double b) { return a + b; });
  EXPECT_EQ(right_.Values(), b_);
}

TEST_P(AccumulateTest, AddsAScaledSpan) {
  ASSERT_OK(AddScaled(left_.span(), kScale, right_.span()));
  ExpectEach(left_, [](double a, double b) { return a + double{kScale} * b; });
  EXPECT_EQ(right_.Values(), b_);
}

TEST_P(AccumulateTest, AssignsAScaledSpan) {
  ASSERT_OK(AssignScaled(left_.span(), kScale, right_.span()));
  ExpectEach(left_, [](double, double b) { return double{kScale} * b; });
  EXPECT_EQ(right_.Values(), b_);
}

TEST_P(AccumulateTest, ScalesInPlace) {
  ASSERT_OK(Scale(left_.span(), kScale));
  ExpectEach(left_, [](double a, double) { return double{kScale} * a; });
}

TEST_P(AccumulateTest, SumsIntoAThirdSpan) {
  TestBuffer result(device(), NormalFloats(size(), 3));
  ASSERT_OK(Sum({.left = left_.span(), .right = right_.span(), .result = result.span()}));
  ExpectEach(result, [](double a, double b) { return a + b; });
  EXPECT_EQ(left_.Values(), a_);
  EXPECT_EQ(right_.Values(), b_);
}

TEST_P(AccumulateTest, SubtractsIntoAThirdSpan) {
  TestBuffer result(device(), NormalFloats(size(), 3));
  ASSERT_OK(Difference({.left = left_.span(), .right = right_.span(), .result = result.span()}));
  ExpectEach(result, [](double a, double b) { return a - b; });
}

TEST_P(AccumulateTest, TheResultMayBeAnOperand) {
  ASSERT_OK(Difference({.left = left_.span(), .right = right_.span(), .result = right_.span()}));
  ExpectEach(right_, [](double a, double b) { return a - b; });
}

TEST_P(AccumulateTest, AdditionCommutesBitwise) {
  TestBuffer there(device(), a_);
  TestBuffer back(device(), b_);
  ASSERT_OK(Add(there.span(), right_.span()));
  ASSERT_OK(Add(back.span(), left_.span()));
  EXPECT_EQ(there.Values(), back.Values());
}

TEST_P(AccumulateTest, EveryElementIsRoundedAfterEachOperation) {
  ASSERT_OK(AddScaled(left_.span(), kScale, right_.span()));
  const std::vector<float> values = left_.Values();
  for (size_t i = 0; i < values.size(); ++i) {
    volatile float product = kScale * b_[i];  // Keeps the compiler from fusing here.
    ASSERT_EQ(values[i], a_[i] + product) << "at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, AccumulateTest, AllKernelCases());

TEST(AccumulateArgumentsTest, SizesThatDifferAreRefusedAndNothingIsWritten) {
  TestBuffer dst({}, {1, 2, 3});
  TestBuffer src({}, {1, 1});
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Add(dst.span(), src.span()), refused);
  EXPECT_THAT(AddScaled(dst.span(), 2, src.span()), refused);
  EXPECT_THAT(AssignScaled(dst.span(), 2, src.span()), refused);
  EXPECT_THAT(Sum({src.span(), src.span(), dst.span()}), refused);
  EXPECT_THAT(Difference({dst.span(), src.span(), dst.span()}), refused);
  EXPECT_EQ(dst.Values(), (std::vector<float>{1, 2, 3}));
}

TEST(AccumulateArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("--config=cuda"));
  EXPECT_THAT(Add(span, span), refused);
  EXPECT_THAT(AddScaled(span, 2, span), refused);
  EXPECT_THAT(AssignScaled(span, 2, span), refused);
  EXPECT_THAT(Scale(span, 2), refused);
  EXPECT_THAT(Sum({span, span, span}), refused);
  EXPECT_THAT(Difference({span, span, span}), refused);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace rondo
