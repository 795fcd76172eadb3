#include "kernels/key_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/key_formula.h"

namespace rondo {
namespace {

KeyCut Search(const std::vector<uint32_t>& keys, int64_t k, bool count_zeros) {
  KeySearch search(k);
  while (!search.done()) {
    std::vector<uint64_t> bins(static_cast<size_t>(BinsOf(search.level())), 0);
    for (const uint32_t key : keys) {
      const int bin = BinAt(key, search.level(), search.prefix());
      if (bin >= 0 && (key != 0 || count_zeros)) ++bins[static_cast<size_t>(bin)];
    }
    search.Narrow(bins);
  }
  return search.cut();
}

int64_t CountTaken(const std::vector<uint32_t>& keys, const KeyCut& cut) {
  int64_t above = 0;
  int64_t ties = 0;
  for (const uint32_t key : keys) {
    above += key > cut.key;
    ties += key == cut.key;
  }
  return above + std::min(ties, cut.ties);
}

// Keys that differ in the upper, the middle or the lower bits only, and zeros.
std::vector<uint32_t> SomeKeys(uint32_t seed, uint32_t mask, size_t count) {
  std::mt19937 generator(seed);
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(generator() & mask);
  return keys;
}

TEST(KeySearchTest, FindsTheKthLargestKey) {
  for (const uint32_t mask : {0x7fffffffu, 0x7ff00000u, 0x000ffc00u, 0x000003ffu, 0x3u, 0x0u}) {
    for (const int64_t k : {1, 2, 100, 999, 1000, 1001, 5000}) {
      std::vector<uint32_t> keys = SomeKeys(7, mask, 1000);
      const KeyCut cut = Search(keys, k, /*count_zeros=*/true);
      std::sort(keys.begin(), keys.end(), std::greater<>());
      const int64_t non_zeros =
          std::count_if(keys.begin(), keys.end(), [](uint32_t key) { return key != 0; });
      EXPECT_EQ(CountTaken(keys, cut), std::min(k, non_zeros)) << std::hex << mask << " " << k;
      EXPECT_GT(cut.key, 0u);
      if (k <= non_zeros) {
        EXPECT_EQ(cut.key, keys[static_cast<size_t>(k - 1)]);
      }
    }
  }
}

TEST(KeySearchTest, DoesNotMindWhetherZerosAreCounted) {
  const std::vector<uint32_t> keys = SomeKeys(3, 0x7, 500);
  for (const int64_t k : {1, 200, 437, 500}) {
    const KeyCut with = Search(keys, k, true);
    const KeyCut without = Search(keys, k, false);
    EXPECT_EQ(with.key, without.key);
    EXPECT_EQ(CountTaken(keys, with), CountTaken(keys, without));
  }
}

TEST(KeySearchTest, EverythingSelectedIsAtOrAboveTheFloorOnTheWay) {
  const std::vector<uint32_t> keys = SomeKeys(11, 0x7fffffff, 1000);
  KeySearch search(300);
  EXPECT_EQ(search.floor(), 1u);
  while (!search.done()) {
    std::vector<uint64_t> bins(static_cast<size_t>(BinsOf(search.level())), 0);
    for (const uint32_t key : keys) {
      const int bin = BinAt(key, search.level(), search.prefix());
      if (bin >= 0) ++bins[static_cast<size_t>(bin)];
    }
    search.Narrow(bins);
    const auto at_or_above = std::count_if(keys.begin(), keys.end(),
                                           [&](uint32_t key) { return key >= search.floor(); });
    EXPECT_EQ(search.at_or_above_floor(), static_cast<uint64_t>(at_or_above));
    EXPECT_GE(at_or_above, 300);
  }
  EXPECT_EQ(search.floor(), search.cut().key);
}

// Counts come from many members: more than 2^32 of them, and more than 2^31 ties.
TEST(KeySearchTest, CountsBeyond32Bits) {
  std::vector<uint64_t> bins(kKeyBins, 0);
  bins[1000] = uint64_t{3} << 32;
  bins[999] = uint64_t{5} << 40;
  KeySearch search((int64_t{3} << 32) + 7);
  search.Narrow(bins);
  EXPECT_EQ(search.prefix(), 999u);
  EXPECT_EQ(search.at_or_above_floor(), (uint64_t{3} << 32) + (uint64_t{5} << 40));
}

TEST(KeyFormulaTest, KeysOrderMagnitudesAndSetApartWhatIsNotFinite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const float ascending[] = {0.0f,    std::numeric_limits<float>::denorm_min(),
                             1e-40f,  std::numeric_limits<float>::min(),
                             0.999f,  1.0f,
                             kLargest};
  for (size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(KeyOf(ascending[i - 1]), KeyOf(ascending[i]));
    EXPECT_EQ(KeyOf(ascending[i]), KeyOf(-ascending[i]));
  }
  EXPECT_EQ(KeyOf(-0.0f), 0u);
  EXPECT_LT(KeyOf(kLargest), kInfinityKey);
  EXPECT_GE(KeyOf(-std::numeric_limits<float>::infinity()), kInfinityKey);
  EXPECT_GE(KeyOf(std::numeric_limits<float>::quiet_NaN()), kInfinityKey);
  EXPECT_LT(BinAt(KeyOf(kLargest), kKeyLevels[0], 0), kFirstInfiniteBin);
  EXPECT_EQ(BinAt(kInfinityKey, kKeyLevels[0], 0), kFirstInfiniteBin);
}

}  // namespace
}  // namespace rondo
