// The CUDA twins of a build that has none.
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda_twins.h"

namespace rondo {
namespace {

absl::Status NoCuda(std::string_view kernel) {
  return absl::FailedPreconditionError(
      fmt::format("{}: its spans lie on a GPU and this build has no CUDA kernels; "
                  "build with --config=cuda or keep the data on the CPU",
                  kernel));
}

}  // namespace

absl::Status SgdCuda(const SgdParams&, const SgdTensors&) { return NoCuda("sgd"); }
absl::Status AdamwCuda(const AdamwParams&, const AdamwTensors&) { return NoCuda("adamw"); }
absl::Status SumCuda(const BinaryTensors&) { return NoCuda("sum"); }
absl::Status SumScaledCuda(const BinaryTensors&, float) { return NoCuda("add_scaled"); }
absl::Status DifferenceCuda(const BinaryTensors&) { return NoCuda("difference"); }
absl::Status AssignScaledCuda(DeviceSpan<float>, float, DeviceSpan<const float>) {
  return NoCuda("scale");
}
absl::StatusOr<Norm> ComputeNormCuda(DeviceSpan<const float>) { return NoCuda("norm"); }
absl::StatusOr<bool> IsFiniteCuda(DeviceSpan<const float>) { return NoCuda("is_finite"); }
absl::StatusOr<uint64_t> StateHashCuda(DeviceSpan<const float>, uint64_t) {
  return NoCuda("state_hash");
}
absl::Status AccumulateKeysCuda(const AccumulateKeysTensors&, float, KeyHistogram*) {
  return NoCuda("accumulate_keys");
}
absl::Status CountKeysAtCuda(DeviceSpan<const float>, KeyLevel, uint32_t, std::span<uint64_t>) {
  return NoCuda("count_keys");
}
absl::Status CountKeysAtCuda(DeviceSpan<const SparseEntry>, KeyLevel, uint32_t,
                             std::span<uint64_t>) {
  return NoCuda("count_keys");
}
absl::StatusOr<Selected> SelectTopKCuda(DeviceSpan<const float>, const KeyHistogram&, int64_t,
                                        DeviceSpan<SparseEntry>) {
  return NoCuda("select_top_k");
}
absl::StatusOr<ThresholdSelected> AccumulateSelectCuda(const AccumulateKeysTensors&, float,
                                                       uint32_t, DeviceSpan<SparseEntry>) {
  return NoCuda("accumulate_select");
}
absl::StatusOr<Selected> KeepTopCuda(DeviceSpan<SparseEntry>, int64_t) {
  return NoCuda("keep_top");
}
absl::StatusOr<CutCount> CountAtCutCuda(DeviceSpan<const SparseEntry>, uint32_t) {
  return NoCuda("count_at_cut");
}
absl::StatusOr<int64_t> KeepCutCuda(DeviceSpan<const SparseEntry>, const KeyCut&,
                                    DeviceSpan<SparseEntry>) {
  return NoCuda("keep_cut");
}
absl::StatusOr<int64_t> MergeEntriesCuda(const MergeArguments&) { return NoCuda("merge"); }
absl::Status ClearDeliveredCuda(DeviceSpan<float>, DeviceSpan<const SparseEntry>,
                                DeviceSpan<const SparseEntry>) {
  return NoCuda("clear_delivered");
}
absl::Status ExpandQuotientsCuda(DeviceSpan<const SparseEntry>, float, DeviceSpan<float>) {
  return NoCuda("expand_quotients");
}

}  // namespace rondo
