// The result and per-element formulas of norm.h, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_NORM_FORMULA_H_
#define RONDO_KERNELS_NORM_FORMULA_H_

#include <cstdint>
#include <cstring>

#include "kernels/host_device.h"

namespace rondo {

inline constexpr int kNormLanes = 32;

struct Norm {
  double squared = 0;  // sum of x_i^2 in double; each square is exact
  bool finite = true;  // no element is infinite or NaN
};

HOST_DEVICE double SquareOf(float x) { return static_cast<double>(x) * static_cast<double>(x); }

// The bits without the sign: they order magnitudes, and everything that isn't finite is at or above
// kInfinityBits.
HOST_DEVICE int32_t MagnitudeBits(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffff;
}
inline constexpr int32_t kInfinityBits = 0x7f800000;

}  // namespace rondo

#endif  // RONDO_KERNELS_NORM_FORMULA_H_
