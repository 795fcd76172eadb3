#include "worker/collectives/dense_reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/status_macros.h"
#include "kernels/accumulate.h"

namespace rondo {

absl::Status DenseReduction::Reduce(const CallId& call, const ReductionInput& input,
                                    DeviceSpan<float> mean, absl::Duration timeout,
                                    Communicator* group) {
  staged_ = false;
  if (mean.size != size_ || (input.factor != 0 && input.values.size != size_)) {
    group->Abort();  // The peers are already in the call.
    return absl::InvalidArgumentError(
        fmt::format("dense reduction of {} elements got {} values and room for {}", size_,
                    input.values.size, mean.size));
  }
  const auto extras = static_cast<int64_t>(input.extras.size());
  buffer_.resize(static_cast<size_t>(size_ + extras + 1));
  const DeviceSpan<float> values(buffer_.data(), size_);
  if (input.factor == 0) {
    std::fill(buffer_.begin(), buffer_.end(), 0.0f);
  } else {
    RETURN_IF_ERROR(AssignScaled(values, input.factor, input.values));
    if (!residual_.empty()) RETURN_IF_ERROR(Add(values, residual()));
  }
  std::copy(input.extras.begin(), input.extras.end(), buffer_.begin() + size_);
  buffer_.back() = input.factor;
  RETURN_IF_ERROR(group->AllReduceSum(call, {buffer_.data(), size_ + extras + 1}, timeout));
  std::copy_n(buffer_.begin() + size_, extras, input.extras.begin());
  const float sum = buffer_.back();
  if (!(sum > 0)) {
    return absl::DataLossError(fmt::format("no member has a finite value in round {}, step {}",
                                           call.round, call.attempt_or_step));
  }
  RETURN_IF_ERROR(AssignScaled(mean, 1 / sum, values));
  staged_ = input.factor != 0;
  return absl::OkStatus();
}

void DenseReduction::Commit() {
  if (!staged_) return;
  staged_ = false;
  residual_ = FlatFloats();
}

void DenseReduction::SetResidual(DeviceSpan<const float> residual) {
  residual_.assign(residual.data, residual.data + residual.size);
}

}  // namespace rondo
