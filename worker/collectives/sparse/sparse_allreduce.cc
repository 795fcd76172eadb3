#include "worker/collectives/sparse/sparse_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/mix64.h"
#include "common/status_macros.h"
#include "kernels/key_formula.h"
#include "kernels/residual.h"
#include "kernels/select.h"
#include "worker/collectives/sparse/agreement.h"
#include "worker/collectives/sparse/gather.h"
#include "worker/collectives/sparse/global_cut.h"
#include "worker/collectives/sparse/regions.h"

namespace rondo {
namespace {

CallId InPhase(CallId call, Phase phase) {
  call.phase = phase;
  return call;
}

absl::Status CheckSpec(const SparseSpec& spec) {
  if (spec.size < 0 || spec.size > kSparseSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("sparse all-reduce of {} elements; indices have 32 bits, so 0 to {} are "
                    "allowed: use the dense ring",
                    spec.size, kSparseSizeMax));
  }
  if (spec.k < 1) {
    return absl::InvalidArgumentError(
        fmt::format("sparse all-reduce: k is {}; at least 1 element must be selected", spec.k));
  }
  if (spec.cuts_every < 1 || spec.local_threshold_every < 1 || spec.global_threshold_every < 1 ||
      spec.window < 0 || spec.imbalance_percent < 100 || spec.imbalance_percent > 200) {
    return absl::InvalidArgumentError(fmt::format(
        "sparse all-reduce: cuts_every {}, local_threshold_every {} and global_threshold_every {} "
        "must be at least 1, window {} at least 0, imbalance_percent {} in [100, 200]",
        spec.cuts_every, spec.local_threshold_every, spec.global_threshold_every, spec.window,
        spec.imbalance_percent));
  }
  return absl::OkStatus();
}

absl::Status CheckInput(const SparseSpec& spec, const ReductionInput& input,
                        DeviceSpan<float> mean) {
  if (!std::isfinite(input.factor) || input.factor < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "sparse all-reduce: factor {}; it must be finite and not negative", input.factor));
  }
  if (mean.size == spec.size && (input.factor == 0 || input.values.size == spec.size)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("sparse all-reduce of {} elements got {} values and room for {}", spec.size,
                  input.values.size, mean.size));
}

// Of all that decides which calls a member makes.
uint64_t SettingsDigest(const SparseSpec& spec) {
  uint64_t digest = 0;
  for (const int setting :
       {static_cast<int>(spec.select), spec.cuts_every, spec.local_threshold_every,
        spec.global_threshold_every, spec.imbalance_percent, spec.window}) {
    digest = Mix64(digest ^ static_cast<uint64_t>(setting));
  }
  return digest;
}

}  // namespace

struct SparseAllReduce::Step {
  CallId call;
  ReductionInput input;
  DeviceSpan<float> mean;
  absl::Duration timeout;
  Communicator* group;
  SparseAgreed next;                  // becomes next_agreed_
  bool finite = true;                 // own values
  bool all_know = false;              // of the error: every rank returns it
  std::vector<int64_t> to_each = {};  // entries for each region
  std::vector<int64_t> from_each = {};
  float factor_sum = 0;
  DeviceSpan<SparseEntry> region = {};  // R_me, then this rank's part of G
  std::vector<int64_t> parts = {};      // sizes of all ranks' parts of G
};

absl::StatusOr<std::unique_ptr<SparseAllReduce>> SparseAllReduce::Make(const SparseSpec& spec,
                                                                       Clock* clock) {
  RETURN_IF_ERROR(CheckSpec(spec));
  return std::unique_ptr<SparseAllReduce>(new SparseAllReduce(spec, clock));
}

absl::Status SparseAllReduce::SetK(int64_t k) {
  SparseSpec changed = spec_;
  changed.k = k;
  RETURN_IF_ERROR(CheckSpec(changed));
  if (k == spec_.k) return absl::OkStatus();
  spec_ = changed;
  agreed_.global_key = 0;  // thresholds are for one k
  agreed_.local_key = 0;
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Reduce(const CallId& call, const ReductionInput& input,
                                     DeviceSpan<float> mean, absl::Duration timeout,
                                     Communicator* group) {
  staged_ = false;
  selected_ = false;
  report_ = {};
  if (absl::Status status = CheckInput(spec_, input, mean); !status.ok()) {
    group->Abort();  // The peers are already in the call.
    return status;
  }
  Step step{.call = call,
            .input = input,
            .mean = mean,
            .timeout = timeout,
            .group = group,
            .next = agreed_};
  const absl::Status status = Run(&step);
  // What only this rank found wrong leaves its peers in the middle of the call.
  if (!status.ok() && !step.all_know) group->Abort();
  return status;
}

absl::Status SparseAllReduce::Run(Step* step) {
  StageMeter meter(*step->group, clock_, &report_);
  RETURN_IF_ERROR(Select(step));
  meter.Charge(SparseStage::kSelect);
  RETURN_IF_ERROR(Agree(step));
  meter.Charge(SparseStage::kAgree);
  RETURN_IF_ERROR(Split(step));
  meter.Charge(SparseStage::kSplit);
  RETURN_IF_ERROR(TakeWinners(step));
  meter.Charge(SparseStage::kThreshold);
  if (report_.rebalanced) {
    RETURN_IF_ERROR(Rebalance(step->group, InPhase(step->call, Phase::kSparseBalance), step->region,
                              step->parts, step->timeout, &block_));
    step->region = {block_.data(), static_cast<int64_t>(block_.size())};
    const EvenBlocks blocks(step->parts);
    for (int rank = 0; rank < step->group->size(); ++rank) {
      step->parts[rank] = blocks.BlockSize(rank);
    }
    meter.Charge(SparseStage::kBalance);
  }
  RETURN_IF_ERROR(GatherEntries(step->group, InPhase(step->call, Phase::kSparseGather),
                                step->region, step->parts, step->timeout, &gathered_));
  meter.Charge(SparseStage::kGather);
  step->all_know = true;
  const DeviceSpan<const SparseEntry> taken(gathered_.data(),
                                            static_cast<int64_t>(gathered_.size()));
  RETURN_IF_ERROR(CheckSums(taken, step->call));
  step->all_know = false;
  RETURN_IF_ERROR(Apply(taken, step->factor_sum, step->mean));
  result_.swap(gathered_);
  report_.delivered = result().size;
  ++step->next.steps;
  next_agreed_ = std::move(step->next);
  meter.Charge(SparseStage::kApply);
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Select(Step* step) {
  SparseAgreed& next = step->next;
  if (spec_.select == SparseSelect::kExact) {
    ASSIGN_OR_RETURN(step->finite, selection_.SelectTop(step->input, spec_.k, nullptr));
  } else {
    if (next.steps % spec_.local_threshold_every == 0) next.local_key = 0;
    ASSIGN_OR_RETURN(step->finite,
                     selection_.SelectAtThreshold(step->input, spec_.k, &next.local_key));
  }
  selected_ = step->finite;
  report_.selected = selection_.selected().size;
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Agree(Step* step) {
  SparseAgreed& next = step->next;
  const size_t ranks = static_cast<size_t>(step->group->size());
  if (next.cuts.size() != ranks + 1 || next.cuts.back() != spec_.size) next.cuts.clear();
  step->to_each = next.cuts.empty() ? std::vector<int64_t>(ranks, 0)
                                    : CountPieces(selection_.selected(), next.cuts);
  const Notice mine{.size = spec_.size,
                    .k = spec_.k,
                    .digest = DigestOf(next),
                    .factor = step->input.factor,
                    .is_finite = step->finite ? 1u : 0u,
                    .settings = SettingsDigest(spec_)};
  const CallId call = InPhase(step->call, Phase::kSparseSelection);
  ASSIGN_OR_RETURN(
      const std::vector<Notice> notices,
      ExchangeNotices(step->group, call, mine, step->to_each, step->input.extras, step->timeout));
  step->all_know = true;
  RETURN_IF_ERROR(CheckNotices(notices, step->call));
  step->all_know = false;
  step->factor_sum = FactorSum(notices);
  step->from_each.clear();
  for (const Notice& notice : notices) step->from_each.push_back(notice.entries);
  const bool agree = DigestsAgree(notices);
  if (!agree) {
    next.global_key = 0;
    next.steps = 0;
  }
  if (!agree || next.steps % spec_.cuts_every == 0) RETURN_IF_ERROR(CutRegions(step));
  return CheckEntryCounts(step->from_each, spec_.k);
}

absl::Status SparseAllReduce::CutRegions(Step* step) {
  const CallId call = InPhase(step->call, Phase::kSparseSelection);
  const PositionBins bins = BinsForSize(spec_.size);
  std::vector<uint64_t> histogram(static_cast<size_t>(bins.count), 0);
  CountPositions(bins, selection_.selected(), histogram);
  RETURN_IF_ERROR(step->group->AllReduceSum(call, histogram, step->timeout));
  step->next.cuts = ComputeCuts(bins, histogram, step->group->size());
  step->to_each = CountPieces(selection_.selected(), step->next.cuts);
  report_.refreshed_cuts = true;
  ASSIGN_OR_RETURN(step->from_each,
                   ExchangeSizes(*step->group, call, step->to_each, step->timeout));
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Split(Step* step) {
  const int rank = step->group->rank();
  const SplitInput input{.entries = selection_.selected(),
                         .to_each = step->to_each,
                         .from_each = step->from_each,
                         .region_begin = step->next.cuts[rank],
                         .region_end = step->next.cuts[rank + 1],
                         .window = spec_.window};
  ASSIGN_OR_RETURN(report_.merged,
                   SplitReduce(step->group, InPhase(step->call, Phase::kSparseSplit), input,
                               step->timeout, &split_));
  report_.region_entries = static_cast<int64_t>(split_.pieces.size());
  step->region = {split_.pieces.data(), report_.merged};
  return absl::OkStatus();
}

absl::Status SparseAllReduce::TakeWinners(Step* step) {
  const CallId call = InPhase(step->call, Phase::kSparseThreshold);
  SparseAgreed& next = step->next;
  CutShares shares;
  bool found = false;
  if (spec_.select == SparseSelect::kThreshold && next.global_key != 0 &&
      next.steps % spec_.global_threshold_every != 0) {
    const KeyCut reused{.key = next.global_key, .ties = std::numeric_limits<int64_t>::max()};
    ASSIGN_OR_RETURN(shares, ShareCut(step->group, call, step->region, reused, step->timeout));
    // Below, it is stale: gradients have shrunk since.
    found = shares.total <= spec_.k && shares.total >= spec_.k - spec_.k / 4;
  }
  if (!found) {
    ASSIGN_OR_RETURN(const KeyCut cut,
                     FindGlobalCut(step->group, call, step->region, spec_.k, step->timeout));
    ASSIGN_OR_RETURN(shares, ShareCut(step->group, call, step->region, cut, step->timeout));
    next.global_key = cut.key;
    report_.refreshed_threshold = true;
  }
  if (shares.total > spec_.k) {
    return absl::InvalidArgumentError(
        fmt::format("sparse reduction in round {}, step {}: the ranks take {} entries together; at "
                    "most {} may be taken",
                    call.round, call.attempt_or_step, shares.total, spec_.k));
  }
  ASSIGN_OR_RETURN(step->region.size, KeepCut(step->region, shares.mine, step->region));
  report_.largest_part = *std::max_element(shares.sizes.begin(), shares.sizes.end());
  report_.rebalanced = IsUneven(shares.sizes, spec_.imbalance_percent);
  step->parts = std::move(shares.sizes);
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Apply(DeviceSpan<const SparseEntry> taken, float factor_sum,
                                    DeviceSpan<float> mean) {
  RETURN_IF_ERROR(ExpandQuotients(taken, factor_sum, mean));
  RETURN_IF_ERROR(selection_.ClearDelivered(taken));
  factor_sum_ = factor_sum;
  selected_ = false;
  staged_ = true;
  return absl::OkStatus();
}

absl::Status SparseAllReduce::Adopt(DeviceSpan<const SparseEntry> result, float factor_sum,
                                    DeviceSpan<float> mean) {
  if (!selected_) {
    return absl::FailedPreconditionError(
        "sparse all-reduce: another member's result fits only to a reduction that failed here "
        "after its selection");
  }
  RETURN_IF_ERROR(Apply(result, factor_sum, mean));
  result_.assign(result.data, result.data + result.size);
  next_agreed_ = {};
  return absl::OkStatus();
}

void SparseAllReduce::Commit() {
  if (!staged_) return;
  staged_ = false;
  selection_.Commit();
  agreed_ = std::move(next_agreed_);
  next_agreed_ = {};
}

void SparseAllReduce::BeginGroup() {
  agreed_ = {};
  next_agreed_ = {};  // What is staged may be committed late.
}

DeviceSpan<const SparseEntry> SparseAllReduce::result() const {
  return {result_.data(), static_cast<int64_t>(result_.size())};
}

}  // namespace rondo
