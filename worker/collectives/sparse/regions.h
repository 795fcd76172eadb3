// Who sums what in a sparse all-reduce, and how a result is dealt out evenly. Pure; all numbers are
// 64 bits, and no index ever passes through a float.
// After Li, Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning", PPoPP 2022
// (arXiv 2201.07598), section 3: balanced split and data balancing.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_REGIONS_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_REGIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

// A histogram of positions: bin b counts indices in [b << shift, (b + 1) << shift).
struct PositionBins {
  int64_t size = 0;  // of the dense vector
  int shift = 0;
  int count = 0;  // bins
};

// The finest with at most 4,096 bins; none for size 0.
PositionBins BinsForSize(int64_t size);

// Adds the entries' positions to `histogram`, [bins.count].
void CountPositions(const PositionBins& bins, DeviceSpan<const SparseEntry> entries,
                    std::span<uint64_t> histogram);

// Cuts [0, size) into regions, one for each rank, that hold about the same number of the counted
// entries: region d is [cuts[d], cuts[d+1]), with ranks + 1 cuts. Within a bin entries are taken to
// lie evenly. Regions may be empty. An empty histogram gives regions of equal length.
std::vector<int64_t> ComputeCuts(const PositionBins& bins, std::span<const uint64_t> histogram,
                                 int ranks);

// How many of a list's entries lie in each region; they follow each other in the list.
std::vector<int64_t> CountPieces(DeviceSpan<const SparseEntry> entries,
                                 std::span<const int64_t> cuts);

// A list whose parts, of the given sizes, lie with the ranks in order; it is to be dealt out so
// that rank d holds [total*d/P, total*(d+1)/P).
class EvenBlocks {
 public:
  explicit EvenBlocks(std::span<const int64_t> sizes);

  int64_t total() const { return begins_.back(); }
  // How many of rank `from`'s entries belong to rank `to`. In order of `to` they follow each other.
  int64_t Overlap(int from, int to) const;
  int64_t BlockSize(int rank) const { return BlockBegin(rank + 1) - BlockBegin(rank); }

 private:
  // total is below 2^48 and ranks below 2^15.
  int64_t BlockBegin(int rank) const {
    return total() * rank / (static_cast<int64_t>(begins_.size()) - 1);
  }
  std::vector<int64_t> begins_;  // of each rank's part, and the total
};

// Whether the largest size is above percent/100 times the mean.
bool IsUneven(std::span<const int64_t> sizes, int percent);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_REGIONS_H_
