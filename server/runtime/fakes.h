// Fakes for tests of the runtime and of the edge: a journal that can be held back or be full, a
// machine with a script, sinks that write down what they got.
#ifndef RONDO_SERVER_RUNTIME_FAKES_H_
#define RONDO_SERVER_RUNTIME_FAKES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/core/job_machine.h"
#include "server/core/records.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/journal.h"
#include "server/runtime/machine.h"

namespace rondo::server {

// Keeps records in memory. Threads: any.
class FakeJournal final : public Journal {
 public:
  absl::Status Write(const std::vector<Record>& records) override {
    absl::MutexLock lock(&mutex_);
    ++attempts_;
    mutex_.Await(absl::Condition(this, &FakeJournal::Free));
    if (!verdict_.ok()) return verdict_;
    records_.insert(records_.end(), records.begin(), records.end());
    return absl::OkStatus();
  }

  // Writes wait until Release.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    held_ = true;
  }
  void Release() {
    absl::MutexLock lock(&mutex_);
    held_ = false;
  }
  // What later writes answer; OK: they succeed.
  void SetVerdict(absl::Status verdict) {
    absl::MutexLock lock(&mutex_);
    verdict_ = std::move(verdict);
  }
  void WaitForAttempts(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]()
                            ABSL_NO_THREAD_SAFETY_ANALYSIS { return attempts_ >= count; };
    mutex_.Await(absl::Condition(&enough));
  }
  std::vector<Record> records() {
    absl::MutexLock lock(&mutex_);
    return records_;
  }

 private:
  bool Free() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !held_; }

  absl::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status verdict_ ABSL_GUARDED_BY(mutex_);
  std::vector<Record> records_ ABSL_GUARDED_BY(mutex_);
};

// Answers each event by a function of the test's. Its status counts, as steps, the events that it
// answered with records.
class FakeMachine final : public Machine {
 public:
  using Answer = std::function<Effects(const Event&, absl::Time)>;
  explicit FakeMachine(Answer answer, Effects first = {})
      : answer_(std::move(answer)), first_(std::move(first)) {}
  Effects Start(absl::Time) override { return first_; }
  Effects Handle(const Event& event, absl::Time now) override {
    Effects effects = answer_(event, now);
    steps_ += effects.records.empty() ? 0 : 1;
    return effects;
  }
  StatusView status(absl::Time) const override {
    StatusView view;
    view.step = steps_;
    return view;
  }
  std::vector<WorkerRow> workers() const override { return {}; }

 private:
  const Answer answer_;
  const Effects first_;
  uint64_t steps_ = 0;
};

// One line for each call. Threads: any.
class FakeStreams final : public StreamSink {
 public:
  void Send(StreamId stream, const CoordinatorMessage& message) override {
    Write("send " + std::to_string(stream.value) + " " + message.job_id);
  }
  void Close(StreamId stream, const std::string& reason) override {
    Write("close " + std::to_string(stream.value) + " " + reason);
  }
  std::vector<std::string> lines() {
    absl::MutexLock lock(&mutex_);
    return lines_;
  }
  void WaitForLines(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]()
                            ABSL_NO_THREAD_SAFETY_ANALYSIS { return lines_.size() >= count; };
    mutex_.Await(absl::Condition(&enough));
  }

 private:
  void Write(std::string line) {
    absl::MutexLock lock(&mutex_);
    lines_.push_back(std::move(line));
  }

  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

class NoCheckpoints final : public CheckpointSink {
 public:
  void Complete(const CompleteCheckpoint&) override {}
  void Trim(const TrimCheckpoints&) override {}
  void Look(const LookForPartials&) override {}
  void Look(const LookForCheckpoint&) override {}
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_FAKES_H_
