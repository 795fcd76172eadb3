// The CUDA twins of a build that has none.
#include <fmt/format.h>

#include <cstdint>
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

}  // namespace rondo
