// Inside /kernels only: the entry points of the CUDA twins. A kernel's public function has checked
// the arguments and calls the twin when they lie on a GPU. The linker picks the definitions:
// no_cuda.cc in a build without CUDA.
#ifndef RONDO_KERNELS_CUDA_TWINS_H_
#define RONDO_KERNELS_CUDA_TWINS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/accumulate_formula.h"
#include "kernels/adamw_formula.h"
#include "kernels/norm_formula.h"
#include "kernels/sgd_formula.h"
#include "kernels/span.h"

namespace rondo {

absl::Status SgdCuda(const SgdParams& params, const SgdTensors& tensors);
absl::Status AdamwCuda(const AdamwParams& params, const AdamwTensors& tensors);
absl::Status SumCuda(const BinaryTensors& tensors);
absl::Status SumScaledCuda(const BinaryTensors& tensors, float scale);
absl::Status DifferenceCuda(const BinaryTensors& tensors);
absl::Status AssignScaledCuda(DeviceSpan<float> dst, float scale, DeviceSpan<const float> src);
absl::StatusOr<Norm> ComputeNormCuda(DeviceSpan<const float> x);
absl::StatusOr<bool> IsFiniteCuda(DeviceSpan<const float> x);
absl::StatusOr<uint64_t> StateHashCuda(DeviceSpan<const float> x, uint64_t first_index);

}  // namespace rondo

#endif  // RONDO_KERNELS_CUDA_TWINS_H_
