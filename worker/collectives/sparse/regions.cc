#include "worker/collectives/sparse/regions.h"

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

constexpr int64_t kBinsMost = 4096;

// a * b / c for values whose product may not fit into 64 bits.
int64_t MulDiv(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<__int128>(a) * b / c);
}

}  // namespace

PositionBins BinsForSize(int64_t size) {
  PositionBins bins{.size = size};
  if (size <= 0) return bins;
  while (((size - 1) >> bins.shift) >= kBinsMost) ++bins.shift;
  bins.count = static_cast<int>(((size - 1) >> bins.shift) + 1);
  return bins;
}

void CountPositions(const PositionBins& bins, DeviceSpan<const SparseEntry> entries,
                    std::span<uint64_t> histogram) {
  for (int64_t i = 0; i < entries.size; ++i) ++histogram[entries.data[i].index >> bins.shift];
}

std::vector<int64_t> ComputeCuts(const PositionBins& bins, std::span<const uint64_t> histogram,
                                 int ranks) {
  int64_t total = 0;
  for (const uint64_t count : histogram) total += static_cast<int64_t>(count);
  std::vector<int64_t> cuts = {0};
  int64_t before = 0;  // entries in bins below `bin`
  int bin = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    if (total == 0) {
      cuts.push_back(MulDiv(bins.size, rank, ranks));
      continue;
    }
    const int64_t target = MulDiv(total, rank, ranks);
    while (before + static_cast<int64_t>(histogram[bin]) < target) {
      before += static_cast<int64_t>(histogram[bin++]);
    }
    const int64_t begin = int64_t{bin} << bins.shift;
    const int64_t length = std::min(int64_t{1} << bins.shift, bins.size - begin);
    const int64_t inside = static_cast<int64_t>(histogram[bin]);
    const int64_t step = inside == 0 ? 0 : MulDiv(length, target - before, inside);
    cuts.push_back(std::max(cuts.back(), begin + step));
  }
  cuts.push_back(bins.size);
  return cuts;
}

std::vector<int64_t> CountPieces(DeviceSpan<const SparseEntry> entries,
                                 std::span<const int64_t> cuts) {
  std::vector<int64_t> counts;
  const SparseEntry* const end = entries.data + entries.size;
  const SparseEntry* begin = entries.data;
  for (size_t region = 0; region + 1 < cuts.size(); ++region) {
    const int64_t cut = cuts[region + 1];
    const SparseEntry* const next = std::partition_point(
        begin, end, [cut](const SparseEntry& entry) { return int64_t{entry.index} < cut; });
    counts.push_back(next - begin);
    begin = next;
  }
  return counts;
}

EvenBlocks::EvenBlocks(std::span<const int64_t> sizes) : begins_(sizes.size() + 1, 0) {
  std::partial_sum(sizes.begin(), sizes.end(), begins_.begin() + 1);
}

int64_t EvenBlocks::Overlap(int from, int to) const {
  const int64_t begin = std::max(begins_[from], BlockBegin(to));
  const int64_t end = std::min(begins_[from + 1], BlockBegin(to + 1));
  return std::max<int64_t>(0, end - begin);
}

bool IsUneven(std::span<const int64_t> sizes, int percent) {
  int64_t total = 0;
  int64_t largest = 0;
  for (const int64_t size : sizes) {
    total += size;
    largest = std::max(largest, size);
  }
  const auto ranks = static_cast<int64_t>(sizes.size());
  return static_cast<__int128>(largest) * ranks * 100 > static_cast<__int128>(total) * percent;
}

}  // namespace rondo
