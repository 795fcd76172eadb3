// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
// its finaliser, used for state hashes and seeds, and the generator itself. Every machine and every
// compiler gives the same values.
#ifndef RONDO_COMMON_MIX64_H_
#define RONDO_COMMON_MIX64_H_

#include <cstdint>

namespace rondo {

inline constexpr uint64_t kSplitMix64Gamma = 0x9E3779B97F4A7C15u;

// The finaliser: a bijection on 64-bit words.
constexpr uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The generator: the state is incremented before it is mixed. Not for secrets.
class SplitMix64 {
 public:
  constexpr explicit SplitMix64(uint64_t state) : state_(state) {}
  constexpr uint64_t Next() { return Mix64(state_ += kSplitMix64Gamma); }
  // Uniform in [0, bound), bound > 0: the high word of the 128-bit product (bias below bound /
  // 2^64).
  constexpr uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace rondo

#endif  // RONDO_COMMON_MIX64_H_
