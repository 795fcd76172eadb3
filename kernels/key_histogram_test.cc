#include "kernels/key_histogram.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/key_formula.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

constexpr float kScale = 0.3f;

std::array<uint64_t, kKeyBins> PlainBins(const std::vector<float>& values) {
  std::array<uint64_t, kKeyBins> bins = {};
  for (const float value : values) ++bins[KeyOf(value) >> 20];
  return bins;
}

class KeyHistogramTest : public KernelTest {};

TEST_P(KeyHistogramTest, SumsAndCountsInOnePass) {
  const std::vector<float> r = NormalFloats(size(), 1);
  const std::vector<float> v = NormalFloats(size(), 2);
  TestBuffer residual(device(), r), values(device(), v), result(device(), v);
  KeyHistogram histogram;
  ASSERT_OK(AccumulateKeys({residual.span(), values.span(), result.span()}, kScale, &histogram));
  std::vector<float> expected;
  for (size_t i = 0; i < r.size(); ++i) {
    volatile float product = kScale * v[i];  // Rounded: nothing is fused.
    expected.push_back(r[i] + product);
    const double exact = double{r[i]} + double{kScale} * double{v[i]};
    ASSERT_NEAR(expected[i], exact, 2.0 * 16 / (1 << 24));  // two roundings of values below 16
  }
  EXPECT_EQ(result.Values(), expected);
  EXPECT_EQ(histogram.bins, PlainBins(expected));
  EXPECT_TRUE(histogram.finite());
  EXPECT_EQ(residual.Values(), r);
  EXPECT_TRUE(residual.CanariesLive() && values.CanariesLive() && result.CanariesLive());
}

TEST_P(KeyHistogramTest, CountsEveryShape) {
  for (const Shape shape : kShapes) {
    const std::vector<float> values = FloatsOf(shape, size(), 3);
    TestBuffer x(device(), values);
    KeyHistogram histogram;
    ASSERT_OK(CountKeys(x.span(), &histogram));
    EXPECT_EQ(histogram.bins, PlainBins(values));
    EXPECT_TRUE(histogram.finite());
  }
}

TEST_P(KeyHistogramTest, OneElementThatIsNotFiniteIsFoundWhereverItStands) {
  if (size() == 0) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t at : {int64_t{0}, size() / 2, size() - 1}) {
      std::vector<float> values = NormalFloats(size(), 1);
      values[static_cast<size_t>(at)] = bad;
      TestBuffer residual(device(), NormalFloats(size(), 2)), x(device(), values);
      KeyHistogram histogram;
      ASSERT_OK(AccumulateKeys({residual.span(), x.span(), residual.span()}, 1, &histogram));
      EXPECT_FALSE(histogram.finite()) << bad << " at " << at;
    }
  }
}

TEST_P(KeyHistogramTest, LowerLevelsCountTheKeysUnderAPrefix) {
  const std::vector<float> values = FloatsOf(Shape::kTied, size(), 4);
  TestBuffer x(device(), values);
  SparseEntries entries;
  for (const float value : values) entries.push_back({0, value});
  const uint32_t key = KeyOf(1.5f);
  for (const KeyLevel level : kKeyLevels) {
    const uint32_t prefix = key >> (level.shift + level.bits);
    std::vector<uint64_t> of_floats(static_cast<size_t>(BinsOf(level)), 77);
    std::vector<uint64_t> of_entries(static_cast<size_t>(BinsOf(level)), 77);
    std::vector<uint64_t> expected(static_cast<size_t>(BinsOf(level)), 0);
    for (const float value : values) {
      const int bin = BinAt(KeyOf(value), level, prefix);
      if (bin >= 0) ++expected[static_cast<size_t>(bin)];
    }
    ASSERT_OK(CountKeysAt(x.span(), level, prefix, of_floats));
    ASSERT_OK(CountKeysAt(DeviceSpan<const SparseEntry>(entries.data(), size()), level, prefix,
                          of_entries));
    EXPECT_EQ(of_floats, expected);
    EXPECT_EQ(of_entries, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, KeyHistogramTest, AllKernelCases());

TEST(KeyHistogramArgumentsTest, SpansThatDoNotFitAreRefused) {
  TestBuffer two({}, {1, 2});
  TestBuffer three({}, {1, 2, 3});
  KeyHistogram histogram;
  EXPECT_THAT(AccumulateKeys({two.span(), three.span(), three.span()}, 1, &histogram),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(three.Values(), (std::vector<float>{1, 2, 3}));
}

// Indices of 32 bits end here; nothing of the vector is touched.
TEST(KeyHistogramArgumentsTest, AVectorOfMoreThanFourBillionElementsIsRefused) {
  float one = 1;
  KeyHistogram histogram;
  EXPECT_THAT(CountKeys({&one, kSparseSizeMax + 1}, &histogram),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("dense ring")));
}

TEST(KeyHistogramArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  KeyHistogram histogram;
  EXPECT_THAT(AccumulateKeys({span, span, span}, 1, &histogram),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(CountKeys(span, &histogram), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
