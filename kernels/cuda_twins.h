// Inside /kernels only: the entry points of the CUDA twins. A kernel's public function has checked
// the arguments and calls the twin when they lie on a GPU. The linker picks the definitions:
// no_cuda.cc in a build without CUDA.
#ifndef RONDO_KERNELS_CUDA_TWINS_H_
#define RONDO_KERNELS_CUDA_TWINS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/accumulate_formula.h"
#include "kernels/adamw_formula.h"
#include "kernels/key_formula.h"
#include "kernels/merge_formula.h"
#include "kernels/norm_formula.h"
#include "kernels/select_formula.h"
#include "kernels/sgd_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

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

absl::Status AccumulateKeysCuda(const AccumulateKeysTensors& tensors, float scale,
                                KeyHistogram* histogram);
absl::Status CountKeysAtCuda(DeviceSpan<const float> x, KeyLevel level, uint32_t prefix,
                             std::span<uint64_t> bins);
absl::Status CountKeysAtCuda(DeviceSpan<const SparseEntry> entries, KeyLevel level, uint32_t prefix,
                             std::span<uint64_t> bins);
absl::StatusOr<Selected> SelectTopKCuda(DeviceSpan<const float> x, const KeyHistogram& histogram,
                                        int64_t k, DeviceSpan<SparseEntry> entries);
absl::StatusOr<ThresholdSelected> AccumulateSelectCuda(const AccumulateKeysTensors& tensors,
                                                       float scale, uint32_t key,
                                                       DeviceSpan<SparseEntry> entries);
absl::StatusOr<Selected> KeepTopCuda(DeviceSpan<SparseEntry> entries, int64_t k);
absl::StatusOr<CutCount> CountAtCutCuda(DeviceSpan<const SparseEntry> entries, uint32_t key);
absl::StatusOr<int64_t> KeepCutCuda(DeviceSpan<const SparseEntry> from, const KeyCut& cut,
                                    DeviceSpan<SparseEntry> to);
absl::StatusOr<int64_t> MergeEntriesCuda(const MergeArguments& arguments);
absl::Status ClearDeliveredCuda(DeviceSpan<float> x, DeviceSpan<const SparseEntry> given,
                                DeviceSpan<const SparseEntry> taken);
absl::Status ExpandQuotientsCuda(DeviceSpan<const SparseEntry> entries, float divisor,
                                 DeviceSpan<float> x);

}  // namespace rondo

#endif  // RONDO_KERNELS_CUDA_TWINS_H_
