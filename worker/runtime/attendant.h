// The worker at run time: owns the machine, feeds it events one at a time, and carries its commands
// to the stream and the trainer.
//
//   Link (edge) ──Post──▶ queue ──▶ Machine ──commands──▶ Link, Trainer
//   Trainer     ──Post──▶   ▲
//   heartbeat   ──Post──────┘      its thread also keeps the machine's timer
#ifndef RONDO_WORKER_RUNTIME_ATTENDANT_H_
#define RONDO_WORKER_RUNTIME_ATTENDANT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/core/actions.h"
#include "worker/core/machine.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// The stream to the coordinator. Threads: the attendant's. Calls don't block and don't call back;
// what happens comes by Attendant::Post.
class Link {
 public:
  virtual ~Link() = default;
  virtual void Open(uint64_t dial) = 0;
  virtual void Close(uint64_t dial) = 0;
  // On the stream that was opened last.
  virtual void Send(const WorkerMessage& message) = 0;
};

struct AttendantParts {
  MachineConfig machine;
  Clock* clock = nullptr;
  Link* link = nullptr;
  // Does the commands from UseLimits on (Trainer::Do).
  std::function<void(const Command&)> work;
};

class Attendant {
 public:
  explicit Attendant(AttendantParts parts);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  // Call once: begins to dial. Link and work are used from now on.
  void Start();
  // Ends the thread: link and work are used no more; what is posted later is lost. Call it before
  // the link goes, whose threads may still post; the destructor calls it too.
  void Stop();
  // Threads: any; never blocks on work.
  void Post(Event event);
  // Threads: any. Blocks until the machine has said Exit.
  Exit WaitForExit();
  // Those of the last Welcome. Threads: any.
  SessionLimits limits();

 private:
  void Run();
  void Carry(Effects effects);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }
  bool HasExit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return exit_.has_value(); }

  const AttendantParts parts_;
  Machine machine_;     // The thread's.
  absl::Time wake_at_;  // The thread's.
  absl::Mutex mutex_;
  std::deque<Event> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Exit> exit_ ABSL_GUARDED_BY(mutex_);
  SessionLimits limits_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_ATTENDANT_H_
