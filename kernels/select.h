// Selection of the largest elements of a vector as entries in ascending order of index. "First"
// means magnitude descending, then index ascending; elements equal to 0 are never selected. Which
// entries come out depends on the values alone, not on device or path.
// Threads: any, on spans that don't overlap. On a GPU each function waits for the spans' stream.
// Errors, of each: InvalidArgument for spans that don't fit together, k < 1 or a vector longer than
// kSparseSizeMax, FailedPrecondition for a CUDA span in a build without CUDA. Nothing is written
// then. Vectors hold finite values only: KeyHistogram::finite says so.
#ifndef RONDO_KERNELS_SELECT_H_
#define RONDO_KERNELS_SELECT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/key_formula.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

// Room for entries that SelectTopK needs for k of n elements: what lies at or above the bin of the
// k-th key is collected first.
int64_t SelectRoom(int64_t n, int64_t k);

// Writes the first min(k, number of elements that aren't 0) elements of `x` to `entries`, which has
// at least SelectRoom(x.size, k) places. `histogram` is x's. Cost: one scan of 4 bytes an element
// and a few passes over about 2k entries. If so many elements share the k-th one's upper 11 key
// bits that they don't fit into the room (ties, mostly), one or two scans more.
absl::StatusOr<Selected> SelectTopK(DeviceSpan<const float> x, const KeyHistogram& histogram,
                                    int64_t k, DeviceSpan<SparseEntry> entries);

// In one scan: result[i] = residual[i] + scale * values[i] as AccumulateKeys, and all its elements
// whose key is at or above `key` >= 1.
absl::StatusOr<ThresholdSelected> AccumulateSelect(const AccumulateKeysTensors& tensors,
                                                   float scale, uint32_t key,
                                                   DeviceSpan<SparseEntry> entries);

// Places that AccumulateSelect needs to be sure to fit `most` entries.
int64_t ThresholdRoom(int64_t most);

// Of a list without zeros, keeps the first min(k, size) in that order, in place and in the order of
// the list. Returns how many and the lowest key among them.
absl::StatusOr<Selected> KeepTop(DeviceSpan<SparseEntry> entries, int64_t k);

// How many of a list's keys are above `key`, and how many equal it.
absl::StatusOr<CutCount> CountAtCut(DeviceSpan<const SparseEntry> entries, uint32_t key);

// Copies what `cut` takes of `from` to `to`, in order; returns how many. `to` has room for as many
// as `from` and may be the same span.
absl::StatusOr<int64_t> KeepCut(DeviceSpan<const SparseEntry> from, const KeyCut& cut,
                                DeviceSpan<SparseEntry> to);

}  // namespace rondo

#endif  // RONDO_KERNELS_SELECT_H_
