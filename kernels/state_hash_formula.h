// The per-element formula of state_hash.h, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_STATE_HASH_FORMULA_H_
#define RONDO_KERNELS_STATE_HASH_FORMULA_H_

#include <cstdint>
#include <cstring>

#include "common/mix64.h"
#include "kernels/host_device.h"

namespace rondo {

HOST_DEVICE uint64_t StateHashAt(uint64_t index, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return Mix64((index << 32) + bits);
}

}  // namespace rondo

#endif  // RONDO_KERNELS_STATE_HASH_FORMULA_H_
