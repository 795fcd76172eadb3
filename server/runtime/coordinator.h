// The coordinator in motion: it puts events into the machine one at a time, its records into the
// journal, and lets its effects leave in the order of decisions once all records decided before
// them are on disk. Users, too, are told of nothing that is not.
//
//   edge ──Submit──▶ [lock] machine ──records──▶ journal thread ──on disk──▶ [lock] ──▶ sinks
//                              └── effects wait in order ────────────────────┘
#ifndef RONDO_SERVER_RUNTIME_COORDINATOR_H_
#define RONDO_SERVER_RUNTIME_COORDINATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/runtime/journal.h"
#include "server/runtime/journal_thread.h"
#include "server/runtime/machine.h"

namespace rondo::server {

// Where messages go. Called under the coordinator's lock, in order: both must return at once and
// must not call the coordinator. A stream that is not there (any more) is ignored.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void Send(StreamId stream, const CoordinatorMessage& message) = 0;
  // After what was sent before is flushed.
  virtual void Close(StreamId stream, const std::string& reason) = 0;
};

// Completes checkpoints. Called under the coordinator's lock: must return at once; works later, in
// order, on a thread of its own.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // Answers by Submit(CheckpointCompleted).
  virtual void Complete(const CompleteCheckpoint& request) = 0;
  virtual void Trim(const TrimCheckpoints& request) = 0;
  // Answers by Submit(PartialsFound).
  virtual void Look(const LookForPartials& request) = 0;
  // Answers by Submit(CheckpointFound).
  virtual void Look(const LookForCheckpoint& request) = 0;
};

// Told of each commit once it is on disk. Called under the coordinator's lock: must return at once
// and must not call the coordinator.
class RoundWatcher {
 public:
  virtual ~RoundWatcher() = default;
  virtual void OnRound(const CommitRecord& commit) = 0;
  virtual void OnEnd() = 0;  // No more rounds will come.
};

struct NumberedNotice {
  uint64_t number = 0;  // From 1.
  NoticeRecord notice;
};

inline constexpr size_t kNoticesKept = 20;

struct CoordinatorStatus {
  StatusView view;       // As far as the journal has it; who is here and how fast, as it is now.
  bool blocked = false;  // The journal cannot be written; `blocked_text` says why.
  std::string blocked_text;
  std::vector<NumberedNotice> notices;  // The newest kNoticesKept, oldest first.
};

// How the process is to end.
struct Outcome {
  int exit_code = 0;
  std::string reason;
};

struct CoordinatorOptions {
  // Off: nothing fires by itself; tests move a FakeClock and call FireDueTimer.
  bool run_timers = true;
  absl::Duration journal_retry = absl::Milliseconds(500);
  // The newest ones of earlier terms, at most kNoticesKept, oldest first.
  std::vector<NumberedNotice> notices = {};
};

// Threads: any. Ownership: borrows clock, journal and sinks, which must outlive it.
class Coordinator {
 public:
  Coordinator(std::unique_ptr<Machine> machine, Journal* journal, Clock* clock,
              CoordinatorOptions options = {});
  ~Coordinator();  // Stops first.
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Begins the term. Call once; a Submit that comes earlier waits for it.
  void Start(StreamSink* streams, CheckpointSink* checkpoints);

  // Ends the timer and the journal's thread; what was handed to the journal is written first. The
  // sinks are not called after it, events are ignored. May be called twice.
  void Stop();

  // One event, decided at the clock's time. Never waits for the disk.
  void Submit(const Event& event);

  // A user's request. `answered` is called once: when what was decided is on disk, or with
  // Unavailable when that cannot be (the disk is full, the journal has failed, the coordinator
  // stops). Called under the coordinator's lock, maybe before Ask returns: it must return at once
  // and must not call the coordinator.
  using Answered = std::function<void(const absl::StatusOr<SteerAnswer>&)>;
  void Ask(const Event& request, Answered answered);

  // Fires the machine's timer if its time has come.
  void FireDueTimer();

  // Blocks until the job is over and everybody was told, or the journal has failed.
  Outcome WaitUntilFinished();

  CoordinatorStatus Status();
  std::vector<WorkerRow> Workers();
  absl::Time Now() { return clock_->Now(); }

  // The watcher is told of every later commit until RemoveWatcher has returned. After the end
  // OnEnd is called at once.
  void AddWatcher(RoundWatcher* watcher);
  void RemoveWatcher(RoundWatcher* watcher);

 private:
  // Effects of one event, and the batch that must be on disk before they leave.
  struct Held {
    uint64_t batch = 0;
    std::vector<Effect> effects;
    std::function<void(const absl::Status&)> answer;  // With why it cannot be given, else OK.
  };

  void Absorb(Effects effects, const Answered& answered = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropHeld(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReleaseDurable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Perform(const Effect& effect) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Outcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnDurable(uint64_t batch, const std::vector<Record>& records);
  StatusView ViewOnDisk() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRecord(const Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnBlocked(std::string text);
  void OnUnblocked();
  void OnJournalFailed(const absl::Status& status);
  void RunTimers();

  Clock* const clock_;
  const CoordinatorOptions options_;
  absl::Mutex mutex_;
  const std::unique_ptr<Machine> machine_ ABSL_PT_GUARDED_BY(mutex_);
  StreamSink* streams_ ABSL_GUARDED_BY(mutex_) = nullptr;
  CheckpointSink* checkpoints_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t last_batch_ ABSL_GUARDED_BY(mutex_) = 0;     // Handed to the journal.
  uint64_t durable_batch_ ABSL_GUARDED_BY(mutex_) = 0;  // On disk.
  std::deque<Held> held_ ABSL_GUARDED_BY(mutex_);
  StatusView view_on_disk_ ABSL_GUARDED_BY(mutex_);
  // What each batch that is not on disk makes of it, oldest first.
  std::deque<std::pair<uint64_t, StatusView>> views_ahead_ ABSL_GUARDED_BY(mutex_);
  absl::Time wake_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool timer_news_ ABSL_GUARDED_BY(mutex_) = false;  // wake_at_ moved, or the end has come.
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool journal_failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  std::string blocked_text_ ABSL_GUARDED_BY(mutex_);
  uint64_t notices_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<NumberedNotice> notices_ ABSL_GUARDED_BY(mutex_);
  std::set<RoundWatcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  std::optional<Outcome> outcome_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<JournalThread> journal_thread_ ABSL_GUARDED_BY(mutex_);
  std::thread timer_thread_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_COORDINATOR_H_
