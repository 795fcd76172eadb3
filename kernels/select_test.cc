#include "kernels/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/flat_floats.h"
#include "kernels/key_formula.h"
#include "kernels/key_histogram.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

constexpr SparseEntry kCanary = {0xdeadbeef, 12345.5f};

// Places for entries with a canary behind them.
class Places {
 public:
  explicit Places(int64_t size) : size_(size), memory_(static_cast<size_t>(size + 1), kCanary) {}
  DeviceSpan<SparseEntry> span() { return {memory_.data(), size_}; }
  std::vector<PlainEntry> First(int64_t count) const { return PlainOf(memory_.data(), count); }
  bool CanaryLives() const {
    return memory_.back().index == kCanary.index && memory_.back().value == kCanary.value;
  }

 private:
  int64_t size_;
  SparseEntries memory_;
};

std::vector<int64_t> SomeK(int64_t n) { return {1, 2, n / 100 + 1, n / 10 + 1, n + 1, 2 * n + 1}; }

class SelectTest : public KernelTest {
 protected:
  std::vector<PlainEntry> Top(const std::vector<float>& values, int64_t k) {
    TestBuffer x(device(), values);
    Places places(SelectRoom(x.size(), k));
    KeyHistogram histogram;
    EXPECT_OK(CountKeys(x.span(), &histogram));
    const auto selected = SelectTopK(x.span(), histogram, k, places.span());
    EXPECT_OK(selected);
    EXPECT_TRUE(places.CanaryLives() && x.CanariesLive());
    EXPECT_EQ(x.Values(), values);
    const std::vector<PlainEntry> entries = places.First(selected->count);
    uint32_t lowest = std::numeric_limits<uint32_t>::max();
    for (const PlainEntry& entry : entries) lowest = std::min(lowest, KeyOf(entry.second));
    if (selected->count == k) {
      EXPECT_EQ(selected->lowest_key, lowest);
    }
    return entries;
  }
};

// S53: by magnitude; negative values count like positive ones.
TEST_P(SelectTest, TakesTheLargestMagnitudesLowerIndicesFirstNeverZero) {
  for (const Shape shape : kShapes) {
    const std::vector<float> values = FloatsOf(shape, size(), 5);
    for (const int64_t k : SomeK(size())) {
      ASSERT_EQ(Top(values, k), TopBySort(values, k))
          << "shape " << static_cast<int>(shape) << " k " << k;
    }
  }
}

// More elements share the k-th one's leading bits than there is room for.
TEST_P(SelectTest, FindsItsWayThroughAVectorThatIsOneCrowdedBin) {
  std::vector<float> values = NormalFloats(size(), 6, 1e-4f);
  for (float& value : values) value += 1;
  for (const int64_t k : SomeK(size())) ASSERT_EQ(Top(values, k), TopBySort(values, k)) << k;
  // The same in all but the last bits of a denormal, where zeros are near.
  for (float& value : values) value = (value - 1) * 1e5f * std::numeric_limits<float>::denorm_min();
  for (const int64_t k : SomeK(size())) ASSERT_EQ(Top(values, k), TopBySort(values, k)) << k;
}

TEST_P(SelectTest, AThresholdTakesAllAtOrAboveItInOneScan) {
  const std::vector<float> r = NormalFloats(size(), 1);
  const std::vector<float> v = NormalFloats(size(), 2);
  for (const float threshold : {0.0f, 0.5f, 2.0f, 100.0f}) {
    TestBuffer residual(device(), r), values(device(), v), result(device(), v);
    Places places(ThresholdRoom(size()));
    const uint32_t key = std::max<uint32_t>(1, KeyOf(threshold));
    ASSERT_OK_AND_ASSIGN(
        const ThresholdSelected found,
        AccumulateSelect({residual.span(), values.span(), result.span()}, 1, key, places.span()));
    std::vector<PlainEntry> expected;
    std::vector<float> sums;
    for (size_t i = 0; i < r.size(); ++i) {
      sums.push_back(r[i] + v[i]);
      if (KeyOf(sums[i]) >= key) expected.push_back({static_cast<int64_t>(i), sums[i]});
    }
    EXPECT_TRUE(found.fits && found.finite);
    EXPECT_EQ(places.First(found.count), expected);
    EXPECT_EQ(result.Values(), sums);
    EXPECT_TRUE(places.CanaryLives() && result.CanariesLive());
  }
}

TEST_P(SelectTest, AThresholdThatTakesTooManySaysSoAndMakesTheSumAllTheSame) {
  if (size() < 2) return;
  const std::vector<float> v(static_cast<size_t>(size()), 1.0f);
  TestBuffer residual(device(), v), values(device(), v), result(device(), v);
  Places places(size() / 2);
  ASSERT_OK_AND_ASSIGN(const ThresholdSelected found,
                       AccumulateSelect({residual.span(), values.span(), result.span()}, 1,
                                        KeyOf(1.0f), places.span()));
  EXPECT_FALSE(found.fits);
  EXPECT_EQ(result.Values(), std::vector<float>(static_cast<size_t>(size()), 2.0f));
  EXPECT_TRUE(places.CanaryLives());
}

TEST_P(SelectTest, AThresholdSeesWhatIsNotFinite) {
  if (size() == 0) return;
  for (const int64_t at : {int64_t{0}, size() / 2, size() - 1}) {
    std::vector<float> v = NormalFloats(size(), 1);
    v[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
    TestBuffer residual(device(), v), values(device(), v), result(device(), v);
    Places places(ThresholdRoom(size()));
    ASSERT_OK_AND_ASSIGN(
        const ThresholdSelected found,
        AccumulateSelect({residual.span(), values.span(), result.span()}, 1, 1, places.span()));
    EXPECT_FALSE(found.finite) << at;
  }
}

TEST_P(SelectTest, OfAListKeepsTheTopInTheListsOrder) {
  for (const Shape shape : {Shape::kNormal, Shape::kTied, Shape::kAllEqual, Shape::kDenormal}) {
    const std::vector<float> values = FloatsOf(shape, size(), 8);
    for (const int64_t k : SomeK(size())) {
      SparseEntries list = EntriesOf(TopBySort(values, size() + 1));
      const auto count = static_cast<int64_t>(list.size());
      ASSERT_OK_AND_ASSIGN(const Selected kept, KeepTop({list.data(), count}, k));
      ASSERT_EQ(PlainOf(list.data(), kept.count), TopBySort(values, k));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, SelectTest, AllKernelCases());

TEST(KeepCutTest, TakesWhatIsAboveAndTheFirstTies) {
  const SparseEntries list = EntriesOf({{1, 2.f}, {3, -1.f}, {5, 1.f}, {7, -3.f}, {9, 1.f}});
  const DeviceSpan<const SparseEntry> span(list.data(), 5);
  ASSERT_OK_AND_ASSIGN(const CutCount count, CountAtCut(span, KeyOf(1.0f)));
  EXPECT_EQ(count.above, 2);
  EXPECT_EQ(count.ties, 3);
  Places places(5);
  ASSERT_OK_AND_ASSIGN(const int64_t kept,
                       KeepCut(span, {.key = KeyOf(1.0f), .ties = 2}, places.span()));
  EXPECT_EQ(places.First(kept),
            (std::vector<PlainEntry>{{1, 2.f}, {3, -1.f}, {5, 1.f}, {7, -3.f}}));
}

// S56: indices above 2^24, which a float can't tell apart. 68 MB of zeros and a few values.
TEST(SelectLargeTest, IndicesAbove24BitsAreExact) {
  constexpr int64_t kSize = (int64_t{1} << 24) + 1001;
  FlatFloats values(static_cast<size_t>(kSize), 0.0f);
  std::vector<PlainEntry> expected;
  for (const int64_t index : {int64_t{5}, int64_t{1} << 24, (int64_t{1} << 24) + 1,
                              (int64_t{1} << 24) + 2, kSize - 2, kSize - 1}) {
    values[static_cast<size_t>(index)] = -1.0f;
    expected.push_back({index, -1.0f});
  }
  const DeviceSpan<const float> x(values.data(), kSize);
  KeyHistogram histogram;
  ASSERT_OK(CountKeys(x, &histogram));
  for (const int64_t k : {5, 6, 100}) {
    Places places(SelectRoom(kSize, k));
    ASSERT_OK_AND_ASSIGN(const Selected selected, SelectTopK(x, histogram, k, places.span()));
    std::vector<PlainEntry> first = expected;
    first.resize(std::min<size_t>(first.size(), static_cast<size_t>(k)));
    EXPECT_EQ(places.First(selected.count), first);
  }
}

TEST(SelectArgumentsTest, RoomIsForAtLeastKAndNeverMuchAboveTheVector) {
  for (const int64_t n :
       {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1} << 31, kSparseSizeMax}) {
    for (const int64_t k : {int64_t{1}, n / 100 + 1, n + 1, 2 * n + 1}) {
      EXPECT_GE(SelectRoom(n, k), ThresholdRoom(std::min(n, k)));
      EXPECT_LE(SelectRoom(n, k), ThresholdRoom(n));
    }
  }
}

TEST(SelectArgumentsTest, RefusesKOfZeroAndTooLittleRoom) {
  TestBuffer x({}, {1, 2, 3});
  Places places(SelectRoom(3, 2));
  Places small(1);
  KeyHistogram histogram;
  ASSERT_OK(CountKeys(x.span(), &histogram));
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(SelectTopK(x.span(), histogram, 0, places.span()), refused);
  EXPECT_THAT(SelectTopK(x.span(), histogram, 2, small.span()), refused);
  EXPECT_THAT(KeepTop(places.span(), 0), refused);
  EXPECT_THAT(AccumulateSelect({x.span(), x.span(), x.span()}, 1, 0, places.span()), refused);
}

TEST(SelectArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  SparseEntry entry = {};
  const Device gpu = {.kind = DeviceKind::kCuda};
  const DeviceSpan<float> x(&value, 0, gpu);
  const DeviceSpan<SparseEntry> entries(&entry, 0, gpu);
  std::vector<SparseEntry> room(64);
  KeyHistogram histogram = {};
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(SelectTopK(x, histogram, 1, {room.data(), 64, gpu}), refused);
  EXPECT_THAT(AccumulateSelect({x, x, x}, 1, 1, entries), refused);
  EXPECT_THAT(KeepTop(entries, 1), refused);
  EXPECT_THAT(CountAtCut(entries, 1), refused);
  EXPECT_THAT(KeepCut(entries, {}, entries), refused);
}

}  // namespace
}  // namespace rondo
