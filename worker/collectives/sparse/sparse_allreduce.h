// The sparse all-reduce with error feedback: O(k) words a member whatever the size of the group.
// After Li, Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (Ok-Topk), PPoPP
// 2022 (arXiv 2201.07598); what differs is ours and stands here.
//
// n elements, k = entries a member selects, P members. In a step each member
//   1. adds its residual: a = r + factor * values, and selects L, its first min(k, non-zeros)
//      elements by magnitude descending, then index ascending;
//   2. tells the others how many entries it has for the region of each, and whether its values are
//      finite; if one's aren't, all return the same error and nothing was exchanged;
//   3. sends each region's entries to its rank, which sums them in rank order: R;
//   4. selects from all R together the first min(k, non-zeros) by the same order: G;
//   5. gets G. If the largest part is above `imbalance_percent` of the mean one, the parts are
//      dealt out evenly before.
// So the result is TopK(sum in rank order of TopK(a_i)), exactly, with the same bytes on all ranks,
// whatever the regions, windows and re-blocking. What is in both L and G leaves the residual.
//
// Words sent by a member, of 4 bytes: at most 2k in 3. In 5 at most 2k(P-1)/P for re-blocking and
// as many for the gather, or imbalance_percent/100 times as many without: together at most 6k, and
// 4k(P-1)/P where members are alike. Control integers come on top: 48(P-1) bytes (and extras), 3
// small all-reduces, and one of 4,096 integers whenever the regions are cut afresh.
//
// Mode kThreshold selects by thresholds of earlier steps instead, at most k entries each time (a
// larger cap would break the bound): the first k by the order where there are more.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_ALLREDUCE_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_ALLREDUCE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/residual_selection.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/collectives/sparse/sparse_reduction.h"
#include "worker/collectives/sparse/sparse_report.h"
#include "worker/collectives/sparse/split_reduce.h"

namespace rondo {

enum class SparseSelect { kExact, kThreshold };

// The same on all members.
struct SparseSpec {
  int64_t size = 0;  // n, in [0, 2^32]
  int64_t k = 1;     // at least 1; may be above n
  SparseSelect select = SparseSelect::kExact;
  int cuts_every = 64;             // steps between two cuttings of the regions
  int local_threshold_every = 32;  // kThreshold: steps between two thresholds at least
  int global_threshold_every = 32;
  int imbalance_percent = 150;  // in [100, 200]: above 200 the volume bound would not hold
  int window = 0;               // SplitInput::window
};

class SparseAllReduce final : public SparseReduction {
 public:
  // `clock`, which may be null, measures the report's times. Errors: InvalidArgument for a spec
  // out of its ranges.
  static absl::StatusOr<std::unique_ptr<SparseAllReduce>> Make(const SparseSpec& spec,
                                                               Clock* clock);

  absl::Status Reduce(const CallId& call, const ReductionInput& input, DeviceSpan<float> mean,
                      absl::Duration timeout, Communicator* group) override;
  void Commit() override;
  void BeginGroup() override;
  DeviceSpan<float> residual() override { return selection_.residual(); }
  int64_t k() const override { return spec_.k; }
  absl::Status SetK(int64_t k) override;
  DeviceSpan<const float> staged_residual() override { return selection_.staged(); }
  const SparseAgreed& agreed() const override { return agreed_; }
  void SetAgreed(SparseAgreed agreed) override { agreed_ = std::move(agreed); }
  DeviceSpan<const SparseEntry> result() const override;
  float factor_sum() const override { return factor_sum_; }
  absl::Status Adopt(DeviceSpan<const SparseEntry> result, float factor_sum,
                     DeviceSpan<float> mean) override;
  const SparseReport& report() const override { return report_; }

 private:
  struct Step;  // one Reduce: its arguments and what it has found so far

  SparseAllReduce(const SparseSpec& spec, Clock* clock)
      : spec_(spec), clock_(clock), selection_(spec.size) {}

  absl::Status Run(Step* step);
  absl::Status Select(Step* step);
  absl::Status Agree(Step* step);
  absl::Status CutRegions(Step* step);
  absl::Status Split(Step* step);
  absl::Status TakeWinners(Step* step);
  absl::Status Gather(Step* step);
  absl::Status Apply(DeviceSpan<const SparseEntry> taken, float factor_sum, DeviceSpan<float> mean);

  SparseSpec spec_;
  Clock* const clock_;
  ResidualSelection selection_;
  SparseAgreed agreed_;
  SparseAgreed next_agreed_;  // staged
  bool staged_ = false;
  bool selected_ = false;  // a failed Reduce got as far as a selection
  SplitMemory split_;
  SparseEntries block_;  // this rank's part after re-blocking
  SparseEntries gathered_;
  SparseEntries result_;
  float factor_sum_ = 0;
  SparseReport report_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_ALLREDUCE_H_
