// The size of a flat float32 vector, and whether it's finite.
// Threads: any. On a GPU both functions wait for the spans' stream.
// Errors, of both: InvalidArgument for a negative size or a null pointer, FailedPrecondition for a
// CUDA span in a build without CUDA.
#ifndef RONDO_KERNELS_NORM_H_
#define RONDO_KERNELS_NORM_H_

#include "absl/status/statusor.h"
#include "kernels/norm_formula.h"
#include "kernels/span.h"

namespace rondo {

// Sum of squares and finiteness in one scan of 4 bytes an element. On the CPU a vector has one
// result, bit for bit, whatever the vector width: element i is added to lane i mod kNormLanes in
// order of i, then the upper half of the lanes is added to the lower until one is left. The CUDA
// twin agrees within 1e-12 relative.
absl::StatusOr<Norm> ComputeNorm(DeviceSpan<const float> x);

// True if no element is infinite or NaN; true for size 0. One scan, cheaper than ComputeNorm.
absl::StatusOr<bool> IsFinite(DeviceSpan<const float> x);

}  // namespace rondo

#endif  // RONDO_KERNELS_NORM_H_
