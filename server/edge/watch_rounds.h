// One WatchRounds call: past rounds from the journal, then each new one as it is committed.
#ifndef RONDO_SERVER_EDGE_WATCH_ROUNDS_H_
#define RONDO_SERVER_EDGE_WATCH_ROUNDS_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

// Memory is bounded for any reader: while one round is being written, new ones are only noted, and
// fetched from the journal, a page at a time, once the reader has caught up.
// Ownership: deletes itself once gRPC is done with it; borrows coordinator and journal.
class WatchRoundsReactor final : public grpc::ServerWriteReactor<v1::WatchRoundsResponse>,
                                 public RoundWatcher {
 public:
  // `first`: from which round on; none: only new ones. `on_done` is the last call.
  WatchRoundsReactor(Coordinator* coordinator, JournalReader* journal, RoundId first,
                     std::function<void()> on_done);

  // Call once, after construction.
  void Begin();

  void OnRound(const CommitRecord& commit) override;
  void OnEnd() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Fetches the next page and begins to write it; nothing there: idle. Only while busy.
  void FetchNext();
  void WriteFront() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BecomeIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishOnce(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Coordinator* const coordinator_;
  JournalReader* const journal_;
  const std::function<void()> on_done_;
  absl::Mutex mutex_;
  RoundId next_ ABSL_GUARDED_BY(mutex_);  // None: whichever comes first.
  std::deque<RoundRow> page_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = true;     // Fetching or writing.
  bool missed_ ABSL_GUARDED_BY(mutex_) = false;  // A round came while busy.
  bool over_ ABSL_GUARDED_BY(mutex_) = false;    // The job has ended, or the reader left.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  v1::WatchRoundsResponse response_;  // Touched by gRPC between StartWrite and OnWriteDone.
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_WATCH_ROUNDS_H_
