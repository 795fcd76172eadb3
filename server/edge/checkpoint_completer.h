// Completes checkpoints on a thread of its own: manifests wait for the disk, the coordinator does
// not.
#ifndef RONDO_SERVER_EDGE_CHECKPOINT_COMPLETER_H_
#define RONDO_SERVER_EDGE_CHECKPOINT_COMPLETER_H_

#include <deque>
#include <thread>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/core/job_machine.h"
#include "server/edge/checkpoint_store.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

// Threads: any. Ownership: borrows both, which must outlive it.
class CheckpointCompleter final : public CheckpointSink {
 public:
  CheckpointCompleter(CheckpointStore* store, Coordinator* coordinator);
  // Finishes what it was asked for. The coordinator was stopped before.
  ~CheckpointCompleter() override;

  void Complete(const CompleteCheckpoint& request) override;
  void Trim(const TrimCheckpoints& request) override;
  void Look(const LookForPartials& request) override;
  void Look(const LookForCheckpoint& request) override;

 private:
  using Request =
      std::variant<CompleteCheckpoint, TrimCheckpoints, LookForPartials, LookForCheckpoint>;

  void Run();
  void Do(const CompleteCheckpoint& request);
  void Do(const TrimCheckpoints& request);
  void Do(const LookForPartials& request);
  void Do(const LookForCheckpoint& request);

  CheckpointStore* const store_;
  Coordinator* const coordinator_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Request> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_CHECKPOINT_COMPLETER_H_
