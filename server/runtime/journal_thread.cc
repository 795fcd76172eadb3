#include "server/runtime/journal_thread.h"

#include <iterator>
#include <string>
#include <utility>

namespace rondo::server {

JournalThread::JournalThread(Journal* journal, JournalReports reports, absl::Duration retry)
    : journal_(journal), reports_(std::move(reports)), retry_(retry), thread_([this] { Run(); }) {}

JournalThread::~JournalThread() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void JournalThread::Append(uint64_t batch, std::vector<Record> records) {
  absl::MutexLock lock(&mutex_);
  last_batch_ = batch;
  waiting_.insert(waiting_.end(), std::make_move_iterator(records.begin()),
                  std::make_move_iterator(records.end()));
}

bool JournalThread::WriteWithPatience(const std::vector<Record>& records) {
  bool blocked = false;
  for (;;) {
    absl::Status status = journal_->Write(records);
    if (status.ok()) {
      if (blocked) reports_.on_unblocked();
      return true;
    }
    if (!absl::IsResourceExhausted(status)) {
      reports_.on_failed(std::move(status));
      return false;
    }
    if (!std::exchange(blocked, true)) reports_.on_blocked(std::string(status.message()));
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&ending_), retry_)) return false;
  }
}

void JournalThread::Run() {
  for (;;) {
    uint64_t batch = 0;
    std::vector<Record> records;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty()) return;
      batch = last_batch_;
      records.swap(waiting_);
    }
    if (!WriteWithPatience(records)) return;
    reports_.on_durable(batch, records);
  }
}

}  // namespace rondo::server
