// What a member says of its reductions: bytes and seconds by phase, entries of sparse ones. Field
// by field as PhaseCost and SparseStats in proto/rondo/v1/training.proto.
#ifndef RONDO_COMMON_REDUCTION_COSTS_H_
#define RONDO_COMMON_REDUCTION_COSTS_H_

#include <cstdint>

namespace rondo {

enum class CostPhase {
  kReduceScatter,
  kAllGather,
  kDoubling,
  kBuffers,
  kState,
  kReduce,
  // Of a sparse reduction.
  kSelect,
  kAgree,
  kSplit,
  kThreshold,
  kBalance,
  kGather,
  kApply
};

struct PhaseCost {
  CostPhase phase = CostPhase::kReduce;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t header_bytes_sent = 0;
  double seconds = 0;
  uint64_t calls = 0;
};

// What sparse reductions came to on one member: sums over them.
struct SparseStats {
  uint64_t reductions = 0;
  uint64_t selected = 0;        // Entries that it gave.
  uint64_t region_entries = 0;  // That it received for its region, its own among them.
  uint64_t merged = 0;          // Of its region's sum.
  uint64_t delivered = 0;       // Of the results; this and the rest are alike on all members.
  uint64_t largest_part = 0;    // Of the results, in the largest region.
  uint64_t cuts = 0;            // Reductions before which the regions were cut afresh.
  uint64_t thresholds = 0;      // Reductions whose global threshold was found, not reused.
  uint64_t rebalanced = 0;      // Reductions whose parts were dealt out evenly.
};

}  // namespace rondo

#endif  // RONDO_COMMON_REDUCTION_COSTS_H_
