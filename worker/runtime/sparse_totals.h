// What the sparse reductions of an order cost and did, summed up for Ready and Reduced.
#ifndef RONDO_WORKER_RUNTIME_SPARSE_TOTALS_H_
#define RONDO_WORKER_RUNTIME_SPARSE_TOTALS_H_

#include <array>
#include <vector>

#include "worker/collectives/sparse/sparse_report.h"
#include "worker/core/messages.h"

namespace rondo::worker {

class SparseTotals {
 public:
  // A reduction that succeeded.
  void Add(const SparseReport& report);

  const SparseStats& stats() const { return stats_; }
  // One entry a stage, in their order; none without a reduction. Payload of split, balance and
  // gather is entries of 8 bytes, that of all others control integers.
  std::vector<PhaseCost> Costs() const;

 private:
  SparseStats stats_;
  std::array<StageCost, kSparseStages> stages_ = {};
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_SPARSE_TOTALS_H_
