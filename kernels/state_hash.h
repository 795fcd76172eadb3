// The hash by which members show that they hold the same state: 64 bits, the sum over i of mix64(i
// * 2^32 + bits(x_i)) mod 2^64, mix64 being SplitMix64's finaliser (common/mix64.h). The sum has no
// order, so every device and every vector width gives the same value. It finds differences, it
// doesn't withstand an attacker.
#ifndef RONDO_KERNELS_STATE_HASH_H_
#define RONDO_KERNELS_STATE_HASH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/span.h"

namespace rondo {

// The share of x_0, x_1, ... when their global indices are first_index, first_index + 1, ...:
// shares of consecutive pieces add up, mod 2^64, to the hash of the whole, and parameters and
// buffers concatenate so. bits() are the float's own: -0.0 differs from 0.0, and one NaN from
// another. Size 0 gives 0. Only the low 32 bits of an index count. Threads: any. On a GPU it waits
// for the span's stream. Cost: one scan. Errors: InvalidArgument for a negative size or a null
// pointer, FailedPrecondition for a CUDA span in a build without CUDA.
absl::StatusOr<uint64_t> StateHash(DeviceSpan<const float> x, uint64_t first_index);

}  // namespace rondo

#endif  // RONDO_KERNELS_STATE_HASH_H_
