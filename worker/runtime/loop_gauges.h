// What the training loop shows while it runs, for heartbeats. The loop writes, any thread reads.
#ifndef RONDO_WORKER_RUNTIME_LOOP_GAUGES_H_
#define RONDO_WORKER_RUNTIME_LOOP_GAUGES_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "worker/core/messages.h"

namespace rondo::worker {

class LoopGauges {
 public:
  void Begin(Activity activity, absl::Time now) {
    activity_.store(activity, std::memory_order_relaxed);
    moved_at_.store(absl::ToUnixNanos(now), std::memory_order_relaxed);
  }
  void BeginOrder(RoundId round, uint64_t step) {
    round_.store(round.value, std::memory_order_relaxed);
    step_.store(step, std::memory_order_relaxed);
  }
  void EndOrder() { round_.store(0, std::memory_order_relaxed); }
  void Step(uint64_t next_step, double loss, uint64_t samples, absl::Time now) {
    step_.store(next_step, std::memory_order_relaxed);
    loss_.store(loss, std::memory_order_relaxed);
    samples_.store(samples_.load(std::memory_order_relaxed) + samples, std::memory_order_relaxed);
    moved_at_.store(absl::ToUnixNanos(now), std::memory_order_relaxed);
  }
  void Move(absl::Time now) { moved_at_.store(absl::ToUnixNanos(now), std::memory_order_relaxed); }

  uint64_t step() const { return step_.load(std::memory_order_relaxed); }
  // Samples since the process began.
  uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }

  // All but samples_per_second, which needs two looks.
  Progress Look(absl::Time now) const {
    Progress progress;
    progress.round = {round_.load(std::memory_order_relaxed)};
    progress.step = step();
    progress.loss = loss_.load(std::memory_order_relaxed);
    progress.activity = activity_.load(std::memory_order_relaxed);
    if (MovesBySteps(progress.activity)) {
      const int64_t still = absl::ToUnixNanos(now) - moved_at_.load(std::memory_order_relaxed);
      progress.stalled_seconds = still > 0 ? static_cast<double>(still) * 1e-9 : 0;
    }
    return progress;
  }

 private:
  // Only these go on in small pieces; the others have limits of their own.
  static bool MovesBySteps(Activity activity) {
    return activity == Activity::kTraining || activity == Activity::kEvaluating;
  }

  std::atomic<Activity> activity_ = Activity::kWaiting;
  std::atomic<uint64_t> round_ = 0;
  std::atomic<uint64_t> step_ = 0;
  std::atomic<double> loss_ = 0;
  std::atomic<uint64_t> samples_ = 0;
  std::atomic<int64_t> moved_at_ = 0;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_LOOP_GAUGES_H_
