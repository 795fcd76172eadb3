// Tells the coordinator, from a thread of its own, that this process lives and what its training
// loop does.
#ifndef RONDO_WORKER_RUNTIME_HEARTBEAT_H_
#define RONDO_WORKER_RUNTIME_HEARTBEAT_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/core/messages.h"
#include "worker/runtime/loop_gauges.h"

namespace rondo::worker {

// Borrowed, but for the functions.
struct HeartbeatParts {
  const LoopGauges* gauges = nullptr;
  Clock* clock = nullptr;
  std::function<absl::Duration()> period;  // Asked again and again while it is waited for.
  std::function<void(const Progress&)> beat;
};

class Heartbeat {
 public:
  explicit Heartbeat(HeartbeatParts parts);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void Run();

  const HeartbeatParts parts_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The gauges' progress at `now`; samples a second since the last look.
class ProgressReader {
 public:
  Progress Read(const LoopGauges& gauges, absl::Time now);

 private:
  uint64_t samples_ = 0;
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_HEARTBEAT_H_
