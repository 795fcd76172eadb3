// What reductions sent and cost, from the journal's commits: of one round, and summed up. Pure.
#ifndef RONDO_SERVER_CORE_COMM_STATS_H_
#define RONDO_SERVER_CORE_COMM_STATS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/reduction_costs.h"
#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::server {

// What is sent in this phase are entries of 8 bytes; in the other sparse phases small integers.
bool SendsEntries(CostPhase phase);
bool IsSparse(CostPhase phase);

// Adds bytes and calls of `cost` to those of its phase in `costs` and returns that entry, whose
// seconds are the caller's to join.
PhaseCost& AddTraffic(const PhaseCost& cost, std::vector<PhaseCost>* costs);

// Of one sparse round; means are over its reductions.
struct SparseSummary {
  uint64_t reductions = 0;
  double entries_selected = 0;  // That a member gave; mean over members too.
  double entries_delivered = 0;
  double select_seconds = 0;  // The slowest member's, of the round.
  double imbalance = 0;  // Entries for the largest region over the mean; 1: alike. 0: none came.
  double residual_norm = 0;  // Of all members' residuals together.
  uint64_t entry_bytes_sent = 0;
  uint64_t control_bytes_sent = 0;
  uint64_t cuts = 0;
  uint64_t rebalanced = 0;
};

// Absent: the round was dense.
std::optional<SparseSummary> SummaryOf(const CommitRecord& commit);

// Over the rounds of one collective.
struct CollectiveTotals {
  Collective collective = Collective::kRing;
  uint64_t rounds = 0;
  uint64_t reductions = 0;
  uint64_t bytes_sent = 0;
  double reduce_seconds = 0;
  std::vector<PhaseCost> costs = {};  // By phase; seconds: sums of the slowest members'.
  // Sparse ones: sums over reductions, of which entries_selected is a mean over members.
  double entries_selected = 0;
  double entries_delivered = 0;
  double imbalance = 0;  // Sum over rounds.
};

class CommStats {
 public:
  void Add(const CommitRecord& commit);
  // Of those collectives that were used, in the order of the first use.
  const std::vector<CollectiveTotals>& totals() const { return totals_; }

 private:
  std::vector<CollectiveTotals> totals_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_COMM_STATS_H_
