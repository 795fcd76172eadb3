// How other threads end what the trainer is doing: leave a group, drop an order, stop.
#ifndef RONDO_WORKER_RUNTIME_INTERRUPTS_H_
#define RONDO_WORKER_RUNTIME_INTERRUPTS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"

namespace rondo::worker {

// Threads: any.
class Interrupts {
 public:
  // ---- by any thread
  // Group numbers only grow: this leaves `group` and all before it. Ends a blocked call at once.
  void LeaveGroup(GroupId group);
  // Drops every order whose number (Trainer's, ascending) is below `before`.
  void DropOrders(uint64_t before) { orders_dropped_before_.store(before); }
  // The same for saves: the coordinator has given them up.
  void WithdrawSaves(uint64_t before) { saves_withdrawn_before_.store(before); }
  // For good.
  void Stop();

  // ---- by the trainer
  // A fresh flag for the group that is about to be made; already set if the group was left.
  std::shared_ptr<AbortFlag> EnterGroup(GroupId group);
  // From now on LeaveGroup aborts it.
  void SetCommunicator(std::shared_ptr<Communicator> communicator);
  bool IsLeft(GroupId group) const { return stopped() || left_.load() >= group.value; }
  bool IsDropped(uint64_t order) const {
    return stopped() || order < orders_dropped_before_.load();
  }
  bool IsWithdrawn(uint64_t save) const {
    return stopped() || save < saves_withdrawn_before_.load();
  }
  bool stopped() const { return stopped_.load(); }

 private:
  void AbortLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> left_ = 0;
  std::atomic<uint64_t> orders_dropped_before_ = 0;
  std::atomic<uint64_t> saves_withdrawn_before_ = 0;
  absl::Mutex mutex_;
  GroupId group_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<AbortFlag> flag_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Communicator> communicator_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_INTERRUPTS_H_
