#include "worker/runtime/gradient_reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "worker/collectives/reduction.h"

namespace rondo::worker {
namespace {

bool HasNonZero(const float* begin, const float* end) {
  return std::any_of(begin, end, [](float x) { return x != 0; });
}

}  // namespace

// 1 for each tensor that this member has something for: a gradient, or what it owes.
std::vector<float> GradientReducer::CountsOf(const ReducerInput& input) {
  std::vector<float> counts(tensor_ends_.size(), 0.0f);
  if (input.factor == 0) return counts;
  const DeviceSpan<const float> owed =
      feedback_ == nullptr ? DeviceSpan<const float>() : feedback_->owed();
  int64_t begin = 0;
  for (size_t t = 0; t < tensor_ends_.size(); ++t) {
    const int64_t end = tensor_ends_[t];
    const bool has = input.has_gradient[t] != 0 ||
                     (owed.size > 0 && HasNonZero(owed.data + begin, owed.data + end));
    counts[t] = has ? 1.0f : 0.0f;
    begin = end;
  }
  return counts;
}

absl::StatusOr<DeviceSpan<float>> GradientReducer::Reduce(const CallId& call,
                                                          const ReducerInput& input,
                                                          absl::Duration timeout,
                                                          Communicator* group) {
  if (sparse()) return ReduceSparse(call, input, timeout, group);
  const float factor = input.factor;
  FlatFloats& buffer = Buffer(1 - last_);
  const DeviceSpan<float> values(buffer.data(), size_);
  if (factor == 0) {
    std::fill(buffer.begin(), buffer.end(), 0.0f);
  } else if (factor == 1) {
    if (size_ > 0) std::memcpy(values.data, input.values.data, size_ * sizeof(float));
  } else {
    RETURN_IF_ERROR(AssignScaled(values, factor, input.values));
  }
  const std::vector<float> counts = CountsOf(input);
  std::copy(counts.begin(), counts.end(), buffer.begin() + size_);
  buffer.back() = factor;
  if (feedback_ != nullptr) {
    const DeviceSpan<const float> owed = feedback_->owed();
    if (factor != 0 && owed.size > 0) RETURN_IF_ERROR(Add(values, owed));
    feedback_->StageDelivery(factor != 0);
  }
  RETURN_IF_ERROR(group->AllReduceSum(call, Whole(1 - last_), timeout));
  const float sum = buffer.back();
  if (!(sum > 0)) {
    return absl::DataLossError(
        fmt::format("no member has a finite value in step {}", call.attempt_or_step));
  }
  if (sum != 1) RETURN_IF_ERROR(Scale(values, 1 / sum));
  Accept(call.attempt_or_step);
  return last_result();
}

absl::StatusOr<DeviceSpan<float>> GradientReducer::ReduceSparse(const CallId& call,
                                                                const ReducerInput& input,
                                                                absl::Duration timeout,
                                                                Communicator* group) {
  std::vector<float> counts = CountsOf(input);
  const ReductionInput given{.values = input.values, .factor = input.factor, .extras = counts};
  RETURN_IF_ERROR(feedback_->Reduce(call, given, {Buffer(last_).data(), size_}, timeout, group));
  KeepSparse(call.attempt_or_step, counts);
  return last_result();
}

void GradientReducer::KeepSparse(int64_t step, std::span<const float> counts) {
  FlatFloats& buffer = Buffer(last_);
  std::copy(counts.begin(), counts.end(), buffer.begin() + size_);
  last_step_ = step;
}

std::vector<uint8_t> GradientReducer::last_has_gradient() {
  std::vector<uint8_t> has(tensor_ends_.size());
  const float* counts = Buffer(last_).data() + size_;
  for (size_t t = 0; t < has.size(); ++t) has[t] = counts[t] > 0 ? 1 : 0;
  if (!sparse()) return has;
  const DeviceSpan<const SparseEntry> entries = feedback_->result();
  size_t tensor = 0;
  for (int64_t i = 0; i < entries.size; ++i) {
    while (tensor < has.size() && int64_t{entries.data[i].index} >= tensor_ends_[tensor]) ++tensor;
    if (tensor < has.size()) has[tensor] = 1;
  }
  return has;
}

SparseStepResult GradientReducer::OutgoingSparse() {
  const DeviceSpan<const SparseEntry> entries = feedback_->result();
  const float* counts = Buffer(last_).data() + size_;
  return {.entries = {entries.data, entries.data + entries.size},
          .factor_sum = feedback_->factor_sum(),
          .counts = {counts, counts + tensors()}};
}

SparseStepResult& GradientReducer::incoming_sparse() {
  incoming_sparse_.counts.resize(tensor_ends_.size());
  return incoming_sparse_;
}

absl::Status GradientReducer::AdoptSparse(int64_t step) {
  const SparseEntries& entries = incoming_sparse_.entries;
  RETURN_IF_ERROR(feedback_->Adopt({entries.data(), static_cast<int64_t>(entries.size())},
                                   incoming_sparse_.factor_sum, {Buffer(last_).data(), size_}));
  KeepSparse(step, incoming_sparse_.counts);
  incoming_sparse_ = {};
  return absl::OkStatus();
}

}  // namespace rondo::worker
