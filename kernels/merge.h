// Sums of sparse vectors: the entries of several lists that share an index become one.
#ifndef RONDO_KERNELS_MERGE_H_
#define RONDO_KERNELS_MERGE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/merge_formula.h"

namespace rondo {

// Puts the sum at the front of `entries`: ascending unique indices, each value ((x + y) + z) + ...
// in the order of the lists, whatever the backend; sums equal to 0 are left out. Returns how many
// entries it has. A stable radix sort by index, then one pass in order: cost proportional to m *
// log(range). Threads: any, on spans that don't overlap. Errors: InvalidArgument for spans that
// don't fit together or an index outside the range (the entries' content is then undefined),
// FailedPrecondition for a CUDA span in a build without CUDA.
absl::StatusOr<int64_t> MergeEntries(const MergeArguments& arguments);

}  // namespace rondo

#endif  // RONDO_KERNELS_MERGE_H_
