// Sums, differences and scalings of flat float32 spans: what reductions, averages and deltas are
// made of. Every element's result is the float32 value of the expression, each operation rounded
// once; nothing is fused. All spans of a call have one size, n >= 0, and lie on one device. `dst`
// and `result` may be the very span of an operand; otherwise spans don't overlap. Threads: any, on
// spans that don't overlap. On a GPU the work is queued to the spans' stream. Errors, of each
// function: InvalidArgument for spans that don't fit together, FailedPrecondition for a CUDA span
// in a build without CUDA. Nothing is written then.
#ifndef RONDO_KERNELS_ACCUMULATE_H_
#define RONDO_KERNELS_ACCUMULATE_H_

#include "absl/status/status.h"
#include "kernels/accumulate_formula.h"

namespace rondo {

// dst[i] = dst[i] + src[i]. Float addition commutes bitwise for all that are not NaN: two ranks
// that add each other's part hold the same bytes. Three or more parts need one fixed order.
absl::Status Add(DeviceSpan<float> dst, DeviceSpan<const float> src);

// dst[i] = dst[i] + scale * src[i].
absl::Status AddScaled(DeviceSpan<float> dst, float scale, DeviceSpan<const float> src);

// dst[i] = scale * src[i].
absl::Status AssignScaled(DeviceSpan<float> dst, float scale, DeviceSpan<const float> src);

// dst[i] = scale * dst[i].
absl::Status Scale(DeviceSpan<float> dst, float scale);

// result[i] = left[i] + right[i].
absl::Status Sum(const BinaryTensors& tensors);

// result[i] = left[i] - right[i].
absl::Status Difference(const BinaryTensors& tensors);

}  // namespace rondo

#endif  // RONDO_KERNELS_ACCUMULATE_H_
