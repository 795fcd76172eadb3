// The trainer's thread: commands in, events out.
#ifndef RONDO_WORKER_RUNTIME_TRAINER_H_
#define RONDO_WORKER_RUNTIME_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "worker/core/actions.h"
#include "worker/runtime/interrupts.h"
#include "worker/runtime/loop_gauges.h"
#include "worker/runtime/member_work.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

// Borrowed, but for the loader.
struct TrainerParts {
  JobLoader load;
  GroupMaker* groups = nullptr;
  StateSink* sink = nullptr;
  Clock* clock = nullptr;
  StateSource* source = nullptr;
};

// Does the machine's commands from Prepare on, in order, on a thread of its own; LeaveGroup,
// DropOrder and, for a save, Train also interrupt what runs. Threads: any may call Do; it never
// blocks on work. `report` is called on the trainer's thread, with no lock held, and may call Do.
class Trainer {
 public:
  Trainer(TrainerParts parts, std::function<void(Event)> report);
  // Ends what runs (a step, an evaluation batch or a load is finished first) and joins the thread.
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Commands of the stream (OpenStream, CloseStream, Send, Exit) are not for it and do nothing.
  void Do(const Command& command);

  const LoopGauges& gauges() const { return gauges_; }

 private:
  struct Item {
    Command command;
    uint64_t number = 0;
  };

  void Run();
  MemberWork::Answer Work(const Item& item);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }

  const std::function<void(Event)> report_;
  LoopGauges gauges_;
  Interrupts interrupts_;
  MemberWork work_;  // The thread's.
  absl::Mutex mutex_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t numbers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_TRAINER_H_
