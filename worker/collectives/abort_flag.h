// Ends a wait in another thread. One flag goes with one group: it is given to ConnectMesh and kept
// by the communicator that comes of it, so one Set() ends whichever of the two is blocked.
#ifndef RONDO_WORKER_COLLECTIVES_ABORT_FLAG_H_
#define RONDO_WORKER_COLLECTIVES_ABORT_FLAG_H_

#include <atomic>

namespace rondo {

// Threads: any.
class AbortFlag {
 public:
  AbortFlag();
  ~AbortFlag();
  AbortFlag(const AbortFlag&) = delete;
  AbortFlag& operator=(const AbortFlag&) = delete;

  // For good; idempotent.
  void Set();
  bool IsSet() const { return set_.load(); }

  // Readable from the moment the flag is set, for poll(2). -1 if the system had no descriptor left:
  // then waits notice the flag at their next wake-up only.
  int fd() const { return fd_; }

 private:
  std::atomic<bool> set_ = false;
  int fd_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_ABORT_FLAG_H_
