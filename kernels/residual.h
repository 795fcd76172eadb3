// What remains after a sparse exchange, and the dense form of what it gave.
// Threads: any, on spans that don't overlap. Errors, of each: InvalidArgument for lists that aren't
// in ascending order within the vector (the vector's content is then undefined),
// FailedPrecondition for a CUDA span in a build without CUDA.
#ifndef RONDO_KERNELS_RESIDUAL_H_
#define RONDO_KERNELS_RESIDUAL_H_

#include "absl/status/status.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

// Sets x to zero where both lists have an entry: what this member gave and the group took. Cost:
// one pass over the lists.
absl::Status ClearDelivered(DeviceSpan<float> x, DeviceSpan<const SparseEntry> given,
                            DeviceSpan<const SparseEntry> taken);

// x = 0 but for x[index] = value / divisor of each entry, divided as float32 and rounded once.
// `divisor` is not 0. Cost: writes x once.
absl::Status ExpandQuotients(DeviceSpan<const SparseEntry> entries, float divisor,
                             DeviceSpan<float> x);

}  // namespace rondo

#endif  // RONDO_KERNELS_RESIDUAL_H_
