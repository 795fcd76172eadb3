#include "worker/collectives/sparse/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"

namespace rondo {
namespace {

DeviceSpan<const SparseEntry> Span(const SparseEntries& entries) {
  return {entries.data(), static_cast<int64_t>(entries.size())};
}

std::vector<uint64_t> Histogram(const PositionBins& bins, const SparseEntries& entries) {
  std::vector<uint64_t> histogram(static_cast<size_t>(bins.count), 0);
  CountPositions(bins, Span(entries), histogram);
  return histogram;
}

TEST(PositionBinsTest, AreAtMost4096AndCoverTheVector) {
  for (const int64_t size : {int64_t{1}, int64_t{4096}, int64_t{4097}, int64_t{25'000'000},
                             (int64_t{1} << 31) + 5, kSparseSizeMax}) {
    const PositionBins bins = BinsForSize(size);
    EXPECT_LE(bins.count, 4096);
    EXPECT_GE(int64_t{bins.count} << bins.shift, size);
    EXPECT_LT(int64_t{bins.count - 1} << bins.shift, size);
    if (size > 4096) {
      EXPECT_GT(bins.count, 2047);
    }
  }
  EXPECT_EQ(BinsForSize(0).count, 0);
}

void ExpectCuts(const std::vector<int64_t>& cuts, int64_t size, int ranks) {
  ASSERT_EQ(cuts.size(), static_cast<size_t>(ranks) + 1);
  EXPECT_EQ(cuts.front(), 0);
  EXPECT_EQ(cuts.back(), size);
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
}

TEST(ComputeCutsTest, SharesClusteredEntriesEvenly) {
  const int64_t size = 1'000'000;
  const PositionBins bins = BinsForSize(size);
  SparseEntries entries;
  std::mt19937 generator(1);
  std::vector<uint32_t> indices;
  for (int i = 0; i < 20'000; ++i) {
    // Nine of ten in the first hundredth.
    const uint32_t range = i % 10 == 0 ? 1'000'000 : 10'000;
    indices.push_back(generator() % range);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  for (const uint32_t index : indices) entries.push_back({index, 1.0f});
  for (const int ranks : {1, 2, 3, 8, 13}) {
    const std::vector<int64_t> cuts = ComputeCuts(bins, Histogram(bins, entries), ranks);
    ExpectCuts(cuts, size, ranks);
    const std::vector<int64_t> counts = CountPieces(Span(entries), cuts);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}),
              static_cast<int64_t>(entries.size()));
    // A bin holds at most 245 entries here and is cut as if they lay evenly in it.
    const auto mean = static_cast<double>(entries.size()) / ranks;
    for (const int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), mean, 60);
  }
}

TEST(ComputeCutsTest, AnEmptyHistogramGivesEqualLengths) {
  const PositionBins bins = BinsForSize(100);
  const std::vector<uint64_t> none(static_cast<size_t>(bins.count), 0);
  EXPECT_EQ(ComputeCuts(bins, none, 4), (std::vector<int64_t>{0, 25, 50, 75, 100}));
}

TEST(ComputeCutsTest, MoreRanksThanElementsLeaveRegionsEmpty) {
  const PositionBins bins = BinsForSize(2);
  const std::vector<int64_t> cuts = ComputeCuts(bins, std::vector<uint64_t>{5, 5}, 7);
  ExpectCuts(cuts, 2, 7);
  ExpectCuts(ComputeCuts(BinsForSize(0), {}, 3), 0, 3);
}

// S56: n * P above 2^31, counts and products above 2^32, and the longest vector.
TEST(ComputeCutsTest, IsExactForTheLargestSizes) {
  for (const int64_t size : {(int64_t{1} << 31) + 12'345, kSparseSizeMax}) {
    const PositionBins bins = BinsForSize(size);
    std::vector<uint64_t> full(static_cast<size_t>(bins.count), uint64_t{1} << 40);
    full.back() = (uint64_t{1} << 40) *
                      static_cast<uint64_t>(size - (int64_t{bins.count - 1} << bins.shift)) >>
                  bins.shift;  // as dense as the others
    for (const int ranks : {3, 1000}) {
      const std::vector<int64_t> cuts = ComputeCuts(bins, full, ranks);
      ExpectCuts(cuts, size, ranks);
      for (int rank = 0; rank <= ranks; ++rank) {
        const auto even = static_cast<int64_t>(static_cast<__int128>(size) * rank / ranks);
        EXPECT_NEAR(static_cast<double>(cuts[static_cast<size_t>(rank)] - even), 0, 2);
      }
    }
  }
}

TEST(CountPiecesTest, CountsWhatLiesInEachRegionUpToTheLastIndex) {
  const SparseEntries entries =
      EntriesOf({{0, 1.f}, {4, 1.f}, {5, 1.f}, {kSparseSizeMax - 1, 1.f}});
  const std::vector<int64_t> cuts = {0, 0, 5, 5, int64_t{1} << 31, kSparseSizeMax};
  EXPECT_EQ(CountPieces(Span(entries), cuts), (std::vector<int64_t>{0, 2, 0, 1, 1}));
}

TEST(EvenBlocksTest, DealsEveryEntryOnceInOrder) {
  const std::vector<std::vector<int64_t>> kCases = {
      {10}, {0, 0, 0}, {7, 0, 0}, {0, 0, 8}, {1, 2, 3, 4, 5}, {0, 100, 1, 0, 0, 3, 0}, {1, 1}};
  for (const auto& sizes : kCases) {
    const EvenBlocks blocks(sizes);
    const auto ranks = static_cast<int>(sizes.size());
    EXPECT_EQ(blocks.total(), std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
    for (int rank = 0; rank < ranks; ++rank) {
      int64_t sent = 0;
      int64_t received = 0;
      for (int peer = 0; peer < ranks; ++peer) {
        sent += blocks.Overlap(rank, peer);
        received += blocks.Overlap(peer, rank);
      }
      EXPECT_EQ(sent, sizes[static_cast<size_t>(rank)]);
      EXPECT_EQ(received, blocks.BlockSize(rank));
      EXPECT_LE(std::abs(blocks.BlockSize(rank) * ranks - blocks.total()), ranks);
      // What the volume bound rests on: never more than k(P-1)/P leave a rank.
      EXPECT_LE((sent - blocks.Overlap(rank, rank)) * ranks, blocks.total() * (ranks - 1) + ranks);
    }
  }
}

TEST(EvenBlocksTest, CountsBeyond32Bits) {
  const std::vector<int64_t> sizes = {0, int64_t{1} << 44, 0, int64_t{1} << 44};
  const EvenBlocks blocks(sizes);
  EXPECT_EQ(blocks.total(), int64_t{1} << 45);
  EXPECT_EQ(blocks.Overlap(1, 0), int64_t{1} << 43);
  EXPECT_EQ(blocks.Overlap(3, 3), int64_t{1} << 43);
}

TEST(IsUnevenTest, ComparesTheLargestWithTheMean) {
  EXPECT_FALSE(IsUneven(std::vector<int64_t>{0, 0, 0}, 150));
  EXPECT_FALSE(IsUneven(std::vector<int64_t>{15, 10, 5}, 150));
  EXPECT_TRUE(IsUneven(std::vector<int64_t>{16, 9, 5}, 150));
  EXPECT_FALSE(IsUneven(std::vector<int64_t>{1000}, 100));
  EXPECT_TRUE(IsUneven(std::vector<int64_t>{int64_t{1} << 60, 0}, 150));
}

}  // namespace
}  // namespace rondo
