// A point on the monotonic clock: the limit of a call, untouched by changes of the wall clock.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_DEADLINE_H_
#define RONDO_WORKER_COLLECTIVES_TCP_DEADLINE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

namespace rondo {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // Durations above ten years count as ten years.
  static Deadline After(absl::Duration duration) {
    const absl::Duration capped =
        std::clamp(duration, absl::ZeroDuration(), absl::Hours(24 * 365 * 10));
    return Deadline(Clock::now() + absl::ToChronoNanoseconds(capped));
  }

  bool HasPassed() const { return Clock::now() >= at_; }

  // What is left as poll(2) wants it: rounded up, 0 once it has passed, at most an hour at a time.
  int PollMilliseconds() const {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
  }

  friend Deadline Earlier(Deadline a, Deadline b) { return Deadline(std::min(a.at_, b.at_)); }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_DEADLINE_H_
