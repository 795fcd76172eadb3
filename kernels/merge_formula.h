// The arguments of merge.h, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_MERGE_FORMULA_H_
#define RONDO_KERNELS_MERGE_FORMULA_H_

#include <cstdint>

#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

struct MergeArguments {
  // [m] the lists one after the other, in the order in which they are to be summed; each has unique
  // indices. Is overwritten.
  DeviceSpan<SparseEntry> entries;
  DeviceSpan<SparseEntry> scratch;  // [m], doesn't overlap
  // Every index lies in [first_index, end_index).
  int64_t first_index = 0;
  int64_t end_index = 0;
};

}  // namespace rondo

#endif  // RONDO_KERNELS_MERGE_FORMULA_H_
