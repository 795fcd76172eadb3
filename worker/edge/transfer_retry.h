// Tries a transfer of a state file again until it works or nobody wants it any more: a coordinator
// takes only so many at a time, and may be away for a while.
#ifndef RONDO_WORKER_EDGE_TRANSFER_RETRY_H_
#define RONDO_WORKER_EDGE_TRANSFER_RETRY_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace rondo::worker {

struct RetryOptions {
  uint64_t seed = 0;  // Of the pauses' jitter.
  std::function<void(absl::Duration)> sleep = [](absl::Duration time) { absl::SleepFor(time); };
};

enum class Patience {
  kWhileFull,  // Only while the coordinator has too many transfers (ResourceExhausted).
  kAlways,     // Also while it is away (Unavailable).
};

// Calls `attempt` until its status is another one than `patience` names, or `stop` says so; returns
// the last one. Pauses of 0.1 s that double up to 5 s, each drawn from [1/2, 1] of that so that
// workers that were turned away together do not come back together; `stop` is asked before each and
// every 0.1 s in it. Threads: blocks the caller's.
absl::Status RetryTransfer(const RetryOptions& options, Patience patience,
                           const std::function<bool()>& stop,
                           const std::function<absl::Status()>& attempt);

// What a transfer's end means: Unavailable and ResourceExhausted as above, NotFound and DataLoss of
// the file, else Internal (the coordinator's disk, or a request that it does not take). `what`
// stands before the coordinator's words.
absl::Status FromTransfer(const grpc::Status& status, const std::string& what);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_TRANSFER_RETRY_H_
