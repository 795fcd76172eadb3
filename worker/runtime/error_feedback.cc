#include "worker/runtime/error_feedback.h"

#include <algorithm>

#include "common/density.h"
#include "common/status_macros.h"
#include "kernels/norm.h"
#include "worker/collectives/sparse/topk_gather.h"

namespace rondo::worker {

absl::StatusOr<std::unique_ptr<SparseReduction>> ErrorFeedback::MakeReduction(Collective kind,
                                                                              int64_t k) const {
  if (kind == Collective::kTopkGather) return TopkGather::Make(size_, k, options_.clock);
  return SparseAllReduce::Make({.size = size_, .k = k, .select = options_.select}, options_.clock);
}

absl::Status ErrorFeedback::UseReduction(Collective kind, int64_t k) {
  if (reduction_ && kind_ == kind) return reduction_->SetK(k);
  ASSIGN_OR_RETURN(std::unique_ptr<SparseReduction> made, MakeReduction(kind, k));
  const DeviceSpan<float> kept = residual();
  std::copy(kept.data, kept.data + kept.size, made->residual().data);
  reduction_ = std::move(made);
  kind_ = kind;
  return absl::OkStatus();
}

absl::Status ErrorFeedback::BeginOrder(const Order& order) {
  staged_ = Staged::kNone;
  totals_ = {};
  sparse_ = order.collective != Collective::kRing;
  if (mode_ != order.mode) Forget();
  mode_ = order.mode;
  if (!sparse_) return absl::OkStatus();
  return UseReduction(order.collective, EntriesFor(size_, order.density));
}

void ErrorFeedback::BeginGroup(const std::vector<Member>& members) {
  const bool same = std::equal(members.begin(), members.end(), members_.begin(), members_.end(),
                               [](const Member& a, const Member& b) {
                                 return a.name == b.name && a.incarnation == b.incarnation;
                               });
  members_ = members;
  if (reduction_ && !same) reduction_->BeginGroup();
}

absl::Status ErrorFeedback::Reduce(const CallId& call, const ReductionInput& input,
                                   DeviceSpan<float> mean, absl::Duration timeout,
                                   Communicator* group) {
  staged_ = Staged::kNone;
  if (!reduction_) {
    group->Abort();  // The peers are already in the call.
    return absl::InternalError("a sparse reduction before its order has begun");
  }
  RETURN_IF_ERROR(reduction_->Reduce(call, input, mean, timeout, group));
  staged_ = Staged::kSparse;
  totals_.Add(reduction_->report());
  return absl::OkStatus();
}

DeviceSpan<const SparseEntry> ErrorFeedback::result() const {
  return reduction_ ? reduction_->result() : DeviceSpan<const SparseEntry>();
}

absl::Status ErrorFeedback::Adopt(DeviceSpan<const SparseEntry> entries, float factor_sum,
                                  DeviceSpan<float> mean) {
  if (!reduction_) {
    return absl::FailedPreconditionError("a sparse result came to a member without a residual");
  }
  RETURN_IF_ERROR(reduction_->Adopt(entries, factor_sum, mean));
  staged_ = Staged::kSparse;
  return absl::OkStatus();
}

DeviceSpan<const float> ErrorFeedback::owed() {
  return sparse_ ? DeviceSpan<const float>() : DeviceSpan<const float>(residual());
}

void ErrorFeedback::StageDelivery(bool delivered) {
  staged_ = delivered && reduction_ ? Staged::kDelivery : Staged::kNone;
}

void ErrorFeedback::Commit() {
  switch (std::exchange(staged_, Staged::kNone)) {
    case Staged::kNone:
      break;
    case Staged::kSparse:
      reduction_->Commit();
      break;
    case Staged::kDelivery:
      reduction_.reset();
      break;
  }
}

void ErrorFeedback::Forget() {
  staged_ = Staged::kNone;
  reduction_.reset();
}

absl::Status ErrorFeedback::ForgetUnlessFinite() {
  ASSIGN_OR_RETURN(const bool finite, IsFinite(residual()));
  if (!finite) Forget();
  return absl::OkStatus();
}

absl::StatusOr<double> ErrorFeedback::NormSquared() {
  ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(residual()));
  return norm.squared;
}

absl::StatusOr<double> ErrorFeedback::StagedNormSquared() {
  switch (staged_) {
    case Staged::kNone:
      return NormSquared();
    case Staged::kSparse: {
      ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(reduction_->staged_residual()));
      return norm.squared;
    }
    case Staged::kDelivery:
      return 0.0;
  }
  return 0.0;
}

DeviceSpan<float> ErrorFeedback::residual() {
  return reduction_ ? reduction_->residual() : DeviceSpan<float>();
}

std::optional<ErrorFeedback::Saved> ErrorFeedback::Describe() const {
  if (!reduction_) return std::nullopt;
  return Saved{.mode = mode_, .k = reduction_->k(), .agreed = reduction_->agreed()};
}

absl::Status ErrorFeedback::Restore(const Saved& saved) {
  Forget();
  RETURN_IF_ERROR(UseReduction(Collective::kSparse, saved.k));
  mode_ = saved.mode;
  reduction_->SetAgreed(saved.agreed);
  return absl::OkStatus();
}

}  // namespace rondo::worker
