// The journal's own thread: takes batches without blocking, writes them in order, tells when they
// are on disk, and waits for room on a full disk.
#ifndef RONDO_SERVER_RUNTIME_JOURNAL_THREAD_H_
#define RONDO_SERVER_RUNTIME_JOURNAL_THREAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/core/records.h"
#include "server/runtime/journal.h"

namespace rondo::server {

// What the thread reports, on that thread, holding no lock.
struct JournalReports {
  // All batches up to this number are on disk. The numbers grow.
  std::function<void(uint64_t batch, const std::vector<Record>& records)> on_durable;
  // There is no room: the text says where; it is tried again. Called once until there is room.
  std::function<void(std::string text)> on_blocked;
  // There is room again.
  std::function<void()> on_unblocked;
  // The outcome of a write is unknown; nothing is written after it.
  std::function<void(absl::Status status)> on_failed;
};

// Threads: Append from any, in the order that the caller's lock gives; the rest is the owner's.
// Ownership: borrows the journal, which must outlive it.
class JournalThread {
 public:
  // `retry`: how long to wait before a full disk is tried again.
  JournalThread(Journal* journal, JournalReports reports,
                absl::Duration retry = absl::Milliseconds(500));
  // Writes what was appended (unless the journal is blocked or has failed), then ends.
  ~JournalThread();
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // `batch` is the number that on_durable will tell. Never blocks on the disk. Batches that wait
  // while another is written go to disk together, in one transaction.
  void Append(uint64_t batch, std::vector<Record> records);

 private:
  void Run();
  // Writes until it succeeds (true), fails for good or must end.
  bool WriteWithPatience(const std::vector<Record>& records);

  Journal* const journal_;
  const JournalReports reports_;
  const absl::Duration retry_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_batch_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Record> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_JOURNAL_THREAD_H_
