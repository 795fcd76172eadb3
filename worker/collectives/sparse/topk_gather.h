// A baseline for comparison: every member sends its top k to all others, and all of it is summed.
// 2k(P-1) words a member: as much as the sparse all-reduce with two members, more from three on.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_TOPK_GATHER_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_TOPK_GATHER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/residual_selection.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/collectives/sparse/sparse_reduction.h"
#include "worker/collectives/sparse/sparse_report.h"

namespace rondo {

// The result has between k and P*k entries, summed in rank order; a member's selection leaves its
// residual entirely, because all of it is delivered.
class TopkGather final : public SparseReduction {
 public:
  // Errors: InvalidArgument for a size outside [0, 2^32] or k < 1. `clock` may be null.
  static absl::StatusOr<std::unique_ptr<TopkGather>> Make(int64_t size, int64_t k, Clock* clock);

  absl::Status Reduce(const CallId& call, const ReductionInput& input, DeviceSpan<float> mean,
                      absl::Duration timeout, Communicator* group) override;
  void Commit() override;
  void BeginGroup() override {}
  DeviceSpan<float> residual() override { return selection_.residual(); }

  int64_t k() const override { return k_; }
  absl::Status SetK(int64_t k) override;
  DeviceSpan<const float> staged_residual() override { return selection_.staged(); }
  // Nothing is agreed on from step to step.
  const SparseAgreed& agreed() const override { return agreed_; }
  void SetAgreed(SparseAgreed) override {}
  DeviceSpan<const SparseEntry> result() const override;
  float factor_sum() const override { return factor_sum_; }
  absl::Status Adopt(DeviceSpan<const SparseEntry> result, float factor_sum,
                     DeviceSpan<float> mean) override;
  const SparseReport& report() const override { return report_; }

 private:
  TopkGather(int64_t size, int64_t k, Clock* clock) : k_(k), clock_(clock), selection_(size) {}

  // Sets `*all_know` while an error would be that of every rank.
  absl::Status Run(const CallId& call, const ReductionInput& input, DeviceSpan<float> mean,
                   absl::Duration timeout, Communicator* group, bool* all_know);
  absl::Status Apply(DeviceSpan<const SparseEntry> taken, float factor_sum, DeviceSpan<float> mean);

  int64_t k_;
  Clock* const clock_;
  ResidualSelection selection_;
  SparseEntries gathered_;
  SparseEntries scratch_;
  SparseEntries result_;
  float factor_sum_ = 0;
  bool staged_ = false;
  bool selected_ = false;  // a failed Reduce got as far as a selection
  const SparseAgreed agreed_ = {};
  SparseReport report_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_TOPK_GATHER_H_
