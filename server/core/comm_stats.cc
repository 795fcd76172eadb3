#include "server/core/comm_stats.h"

#include <algorithm>
#include <cmath>

namespace rondo::server {
namespace {

double Over(uint64_t sum, uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace

PhaseCost& AddTraffic(const PhaseCost& cost, std::vector<PhaseCost>* costs) {
  auto same = std::find_if(costs->begin(), costs->end(),
                           [&](const PhaseCost& c) { return c.phase == cost.phase; });
  if (same == costs->end()) same = costs->insert(same, PhaseCost{.phase = cost.phase});
  same->bytes_sent += cost.bytes_sent;
  same->bytes_received += cost.bytes_received;
  same->header_bytes_sent += cost.header_bytes_sent;
  same->calls += cost.calls;
  return *same;
}

bool SendsEntries(CostPhase phase) {
  switch (phase) {
    case CostPhase::kSplit:
    case CostPhase::kBalance:
    case CostPhase::kGather:
      return true;
    case CostPhase::kReduceScatter:
    case CostPhase::kAllGather:
    case CostPhase::kDoubling:
    case CostPhase::kBuffers:
    case CostPhase::kState:
    case CostPhase::kReduce:
    case CostPhase::kSelect:
    case CostPhase::kAgree:
    case CostPhase::kThreshold:
    case CostPhase::kApply:
      return false;
  }
  return false;
}

bool IsSparse(CostPhase phase) { return phase >= CostPhase::kSelect; }

std::optional<SparseSummary> SummaryOf(const CommitRecord& commit) {
  if (!commit.sparse) return std::nullopt;
  const SparseStats& stats = *commit.sparse;
  SparseSummary summary;
  summary.reductions = stats.reductions;
  summary.entries_selected = Over(stats.selected, stats.reductions * commit.contributors.size());
  summary.entries_delivered = Over(stats.delivered, stats.reductions);
  summary.imbalance =
      Over(commit.largest_region * commit.contributors.size(), stats.region_entries);
  summary.residual_norm = std::sqrt(commit.residual_norm_squared);
  summary.cuts = stats.cuts;
  summary.rebalanced = stats.rebalanced;
  for (const PhaseCost& cost : commit.costs) {
    if (cost.phase == CostPhase::kSelect) summary.select_seconds += cost.seconds;
    if (!IsSparse(cost.phase)) continue;
    (SendsEntries(cost.phase) ? summary.entry_bytes_sent : summary.control_bytes_sent) +=
        cost.bytes_sent;
  }
  return summary;
}

void CommStats::Add(const CommitRecord& commit) {
  auto total = std::find_if(totals_.begin(), totals_.end(), [&](const CollectiveTotals& t) {
    return t.collective == commit.collective;
  });
  if (total == totals_.end()) {
    total = totals_.insert(total, CollectiveTotals{.collective = commit.collective});
  }
  ++total->rounds;
  total->reductions += commit.reductions;
  total->bytes_sent += commit.bytes_sent;
  total->reduce_seconds += commit.reduce_seconds;
  for (const PhaseCost& cost : commit.costs) {
    AddTraffic(cost, &total->costs).seconds += cost.seconds;
  }
  const std::optional<SparseSummary> sparse = SummaryOf(commit);
  if (!sparse) return;
  const auto reductions = static_cast<double>(sparse->reductions);
  total->entries_selected += sparse->entries_selected * reductions;
  total->entries_delivered += sparse->entries_delivered * reductions;
  total->imbalance += sparse->imbalance;
}

}  // namespace rondo::server
