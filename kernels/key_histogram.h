// Counts of keys (key_formula.h): one scan says how large a vector's elements are, and whether they
// are finite.
// Threads: any, on spans that don't overlap. On a GPU each function waits for the spans' stream.
// Errors, of each: InvalidArgument for spans that don't fit together or are longer than
// kSparseSizeMax, FailedPrecondition for a CUDA span in a build without CUDA. Nothing is written
// then.
#ifndef RONDO_KERNELS_KEY_HISTOGRAM_H_
#define RONDO_KERNELS_KEY_HISTOGRAM_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "kernels/key_formula.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

// result[i] = residual[i] + scale * values[i], each operation rounded once, and the histogram of
// `result`. One scan: reads 8 bytes an element, writes 4.
absl::Status AccumulateKeys(const AccumulateKeysTensors& tensors, float scale,
                            KeyHistogram* histogram);

// The histogram of `x`. One scan of 4 bytes an element.
absl::Status CountKeys(DeviceSpan<const float> x, KeyHistogram* histogram);

// Sets bins[b] to the number of x's keys in bin b of `level` under `prefix`; BinsOf(level) bins.
absl::Status CountKeysAt(DeviceSpan<const float> x, KeyLevel level, uint32_t prefix,
                         std::span<uint64_t> bins);

// The same of a list's values, in any order.
absl::Status CountKeysAt(DeviceSpan<const SparseEntry> entries, KeyLevel level, uint32_t prefix,
                         std::span<uint64_t> bins);

}  // namespace rondo

#endif  // RONDO_KERNELS_KEY_HISTOGRAM_H_
