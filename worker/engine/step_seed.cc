#include <cstdint>

#include "common/mix64.h"
#include "worker/engine/engine.h"

namespace rondo {

uint64_t ComputeStepSeed(uint64_t seed, int64_t step, int64_t first_position) {
  return Mix64(Mix64(Mix64(seed) + static_cast<uint64_t>(step)) +
               static_cast<uint64_t>(first_position));
}

}  // namespace rondo
