// Keys: what selection compares instead of floats, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_KEY_FORMULA_H_
#define RONDO_KERNELS_KEY_FORMULA_H_

#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/norm_formula.h"

namespace rondo {

// The magnitude's bits: |x| < |y| exactly when KeyOf(x) < KeyOf(y), also for denormals. +0 and -0
// have key 0; all that isn't finite is at or above kInfinityKey.
HOST_DEVICE uint32_t KeyOf(float x) { return static_cast<uint32_t>(MagnitudeBits(x)); }
inline constexpr uint32_t kInfinityKey = 0x7f800000;

// A key is looked at from the top, 11, 10 and 10 bits at a time. The 2,048 bins of the first level
// are an eighth of a power of two wide; infinities and NaNs have the last eight to themselves.
struct KeyLevel {
  int shift;
  int bits;
};
inline constexpr KeyLevel kKeyLevels[] = {{20, 11}, {10, 10}, {0, 10}};
inline constexpr int kKeyLevelCount = 3;
inline constexpr int kKeyBins = 2048;  // of the first level; the others have fewer
inline constexpr int kFirstInfiniteBin = static_cast<int>(kInfinityKey >> kKeyLevels[0].shift);

constexpr int BinsOf(KeyLevel level) { return 1 << level.bits; }

// The key's bin at `level`, among the keys whose bits above it are `prefix`; -1 for other keys.
HOST_DEVICE int BinAt(uint32_t key, KeyLevel level, uint32_t prefix) {
  if (key >> (level.shift + level.bits) != prefix) return -1;
  return static_cast<int>((key >> level.shift) & ((1u << level.bits) - 1));
}

// What a selection takes: every key above `key`, and of the keys equal to it the first `ties` in
// order of index. `key` is never 0.
struct KeyCut {
  uint32_t key = 1;
  int64_t ties = 0;
};

}  // namespace rondo

#endif  // RONDO_KERNELS_KEY_FORMULA_H_
