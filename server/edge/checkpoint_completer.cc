#include "server/edge/checkpoint_completer.h"

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace rondo::server {

CheckpointCompleter::CheckpointCompleter(CheckpointStore* store, Coordinator* coordinator)
    : store_(store), coordinator_(coordinator), thread_([this] { Run(); }) {}

CheckpointCompleter::~CheckpointCompleter() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void CheckpointCompleter::Complete(const CompleteCheckpoint& request) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(request);
}

void CheckpointCompleter::Trim(const TrimCheckpoints& request) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(request);
}

void CheckpointCompleter::Look(const LookForPartials& request) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(request);
}

void CheckpointCompleter::Look(const LookForCheckpoint& request) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(request);
}

void CheckpointCompleter::Do(const CompleteCheckpoint& request) {
  const absl::Status status = store_->Complete(request);
  coordinator_->Submit(
      CheckpointCompleted{request.step, status.ok(), std::string(status.message())});
}

void CheckpointCompleter::Do(const TrimCheckpoints& request) {
  store_->Trim(request.newest);
  store_->DropLeftovers(request.alive);
}

void CheckpointCompleter::Do(const LookForPartials& request) {
  coordinator_->Submit(
      PartialsFound{request.round, store_->partials().NewestOf(request.round, request.workers)});
}

void CheckpointCompleter::Do(const LookForCheckpoint& request) {
  coordinator_->Submit(store_->Look(request));
}

void CheckpointCompleter::Run() {
  for (;;) {
    Request request;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    std::visit([this](const auto& r) { Do(r); }, request);
  }
}

}  // namespace rondo::server
