#include "worker/collectives/sparse/topk_gather.h"

#include <fmt/format.h>

#include <vector>

#include "common/status_macros.h"
#include "kernels/merge.h"
#include "kernels/residual.h"
#include "worker/collectives/sparse/agreement.h"
#include "worker/collectives/sparse/gather.h"

namespace rondo {

absl::StatusOr<std::unique_ptr<TopkGather>> TopkGather::Make(int64_t size, int64_t k,
                                                             Clock* clock) {
  if (size < 0 || size > kSparseSizeMax || k < 1) {
    return absl::InvalidArgumentError(
        fmt::format("all-gather of the top {} of {} elements; at least 1 of 0 to {} are allowed", k,
                    size, kSparseSizeMax));
  }
  return std::unique_ptr<TopkGather>(new TopkGather(size, k, clock));
}

absl::Status TopkGather::SetK(int64_t k) {
  if (k < 1) {
    return absl::InvalidArgumentError(
        fmt::format("all-gather of the top {}: at least 1 element must be selected", k));
  }
  k_ = k;
  return absl::OkStatus();
}

absl::Status TopkGather::Reduce(const CallId& call, const ReductionInput& input,
                                DeviceSpan<float> mean, absl::Duration timeout,
                                Communicator* group) {
  staged_ = false;
  selected_ = false;
  report_ = {};
  bool all_know = false;
  const absl::Status status = Run(call, input, mean, timeout, group, &all_know);
  // What only this rank found wrong leaves its peers in the middle of the call.
  if (!status.ok() && !all_know) group->Abort();
  return status;
}

absl::Status TopkGather::Run(const CallId& call, const ReductionInput& input,
                             DeviceSpan<float> mean, absl::Duration timeout, Communicator* group,
                             bool* all_know) {
  StageMeter meter(*group, clock_, &report_);
  ASSIGN_OR_RETURN(const bool finite, selection_.SelectTop(input, k_, nullptr));
  const DeviceSpan<const SparseEntry> mine = selection_.selected();
  selected_ = finite;
  report_.selected = mine.size;
  meter.Charge(SparseStage::kSelect);
  const Notice notice{
      .size = selection_.size(), .k = k_, .factor = input.factor, .is_finite = finite ? 1u : 0u};
  CallId part = call;
  part.phase = Phase::kSparseSelection;
  const std::vector<int64_t> to_each(static_cast<size_t>(group->size()), mine.size);
  ASSIGN_OR_RETURN(const std::vector<Notice> notices,
                   ExchangeNotices(group, part, notice, to_each, input.extras, timeout));
  *all_know = true;
  RETURN_IF_ERROR(CheckNotices(notices, call));
  *all_know = false;
  std::vector<int64_t> sizes;
  for (const Notice& each : notices) sizes.push_back(each.entries);
  RETURN_IF_ERROR(CheckEntryCounts(sizes, k_));
  meter.Charge(SparseStage::kAgree);
  part.phase = Phase::kSparseGather;
  RETURN_IF_ERROR(GatherEntries(group, part, mine, sizes, timeout, &gathered_));
  meter.Charge(SparseStage::kGather);
  scratch_.resize(gathered_.size());
  const DeviceSpan<SparseEntry> all(gathered_.data(), static_cast<int64_t>(gathered_.size()));
  ASSIGN_OR_RETURN(report_.delivered, MergeEntries({.entries = all,
                                                    .scratch = {scratch_.data(), all.size},
                                                    .first_index = 0,
                                                    .end_index = selection_.size()}));
  *all_know = true;
  RETURN_IF_ERROR(CheckSums(all.Sub(0, report_.delivered), call));
  *all_know = false;
  RETURN_IF_ERROR(Apply(all.Sub(0, report_.delivered), FactorSum(notices), mean));
  gathered_.resize(static_cast<size_t>(report_.delivered));
  result_.swap(gathered_);
  meter.Charge(SparseStage::kApply);
  return absl::OkStatus();
}

absl::Status TopkGather::Apply(DeviceSpan<const SparseEntry> taken, float factor_sum,
                               DeviceSpan<float> mean) {
  RETURN_IF_ERROR(ExpandQuotients(taken, factor_sum, mean));
  // Also of what cancelled in the sum: it was delivered.
  RETURN_IF_ERROR(selection_.ClearDelivered(selection_.selected()));
  factor_sum_ = factor_sum;
  selected_ = false;
  staged_ = true;
  return absl::OkStatus();
}

DeviceSpan<const SparseEntry> TopkGather::result() const {
  return {result_.data(), static_cast<int64_t>(result_.size())};
}

absl::Status TopkGather::Adopt(DeviceSpan<const SparseEntry> result, float factor_sum,
                               DeviceSpan<float> mean) {
  if (!selected_) {
    return absl::FailedPreconditionError(
        "all-gather of top k: another member's result fits only to a reduction that failed here "
        "after its selection");
  }
  RETURN_IF_ERROR(Apply(result, factor_sum, mean));
  result_.assign(result.data, result.data + result.size);
  return absl::OkStatus();
}

void TopkGather::Commit() {
  if (!staged_) return;
  staged_ = false;
  selection_.Commit();
}

}  // namespace rondo
