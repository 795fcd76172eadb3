// What a sparse reduction did and cost, for statistics.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REPORT_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REPORT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/collectives/communicator.h"

namespace rondo {

enum class SparseStage { kSelect, kAgree, kSplit, kThreshold, kBalance, kGather, kApply };
inline constexpr int kSparseStages = 7;
std::string_view NameOf(SparseStage stage);

// Bytes as the communicator counts them.
struct StageCost {
  TrafficCounters traffic;
  absl::Duration time;
};

// Of one Reduce of one member.
struct SparseReport {
  int64_t selected = 0;              // entries it gave: |L|
  int64_t merged = 0;                // entries of its region's sum: |R_me|
  int64_t delivered = 0;             // entries of the result: |G|
  int64_t region_entries = 0;        // entries it received for its region, its own among them
  int64_t largest_part = 0;          // entries of G in the largest region, before re-blocking
  bool refreshed_cuts = false;       // the regions were cut afresh
  bool refreshed_threshold = false;  // the global threshold was found, not reused
  bool rebalanced = false;
  std::array<StageCost, kSparseStages> costs = {};

  // Of kSplit, kBalance and kGather: entries. All other payload is control integers.
  int64_t entry_bytes_sent() const;
  int64_t entry_bytes_received() const;
  int64_t control_bytes_sent() const;
};

// Adds what happens between its calls to a report's stages.
class StageMeter {
 public:
  // Borrows all three. Without a clock times stay 0.
  StageMeter(const Communicator& group, Clock* clock, SparseReport* report);
  // What happened since the construction or the last Charge goes to `stage`.
  void Charge(SparseStage stage);

 private:
  absl::Time Now() const { return clock_ == nullptr ? absl::UnixEpoch() : clock_->Now(); }
  const Communicator& group_;
  Clock* const clock_;
  SparseReport* const report_;
  TrafficCounters before_;
  absl::Time began_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_REPORT_H_
