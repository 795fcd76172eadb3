#include "worker/runtime/sparse_totals.h"

#include "worker/runtime/costs.h"

namespace rondo::worker {
namespace {

CostPhase PhaseOf(SparseStage stage) {
  switch (stage) {
    case SparseStage::kSelect:
      return CostPhase::kSelect;
    case SparseStage::kAgree:
      return CostPhase::kAgree;
    case SparseStage::kSplit:
      return CostPhase::kSplit;
    case SparseStage::kThreshold:
      return CostPhase::kThreshold;
    case SparseStage::kBalance:
      return CostPhase::kBalance;
    case SparseStage::kGather:
      return CostPhase::kGather;
    case SparseStage::kApply:
      return CostPhase::kApply;
  }
  return CostPhase::kReduce;
}

}  // namespace

void SparseTotals::Add(const SparseReport& report) {
  ++stats_.reductions;
  stats_.selected += static_cast<uint64_t>(report.selected);
  stats_.region_entries += static_cast<uint64_t>(report.region_entries);
  stats_.merged += static_cast<uint64_t>(report.merged);
  stats_.delivered += static_cast<uint64_t>(report.delivered);
  stats_.largest_part += static_cast<uint64_t>(report.largest_part);
  stats_.cuts += report.refreshed_cuts ? 1 : 0;
  stats_.thresholds += report.refreshed_threshold ? 1 : 0;
  stats_.rebalanced += report.rebalanced ? 1 : 0;
  for (int stage = 0; stage < kSparseStages; ++stage) {
    const StageCost& from = report.costs[stage];
    stages_[stage].traffic += from.traffic;
    stages_[stage].time += from.time;
  }
}

std::vector<PhaseCost> SparseTotals::Costs() const {
  std::vector<PhaseCost> costs;
  for (int stage = 0; stats_.reductions > 0 && stage < kSparseStages; ++stage) {
    costs.push_back(CostOf(PhaseOf(static_cast<SparseStage>(stage)), stages_[stage].traffic,
                           stages_[stage].time, stats_.reductions));
  }
  return costs;
}

}  // namespace rondo::worker
