// How long a worker waits before it dials its coordinator again. Pure.
#ifndef RONDO_WORKER_CORE_REDIAL_H_
#define RONDO_WORKER_CORE_REDIAL_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/mix64.h"

namespace rondo::worker {

// Zero for the first try after a stream that worked, then 50 ms, doubling up to 2 s, each drawn
// from [3/4, 1] of that so that a hundred workers don't dial in step.
class RedialPauses {
 public:
  explicit RedialPauses(uint64_t seed) : jitter_(seed) {}

  absl::Duration Next();
  // A stream was welcomed: the next pause is zero again.
  void Reset() { failures_ = 0; }

 private:
  SplitMix64 jitter_;
  uint32_t failures_ = 0;
};

inline constexpr absl::Duration kRedialPauseMax = absl::Seconds(2);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_REDIAL_H_
