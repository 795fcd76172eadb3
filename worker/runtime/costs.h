// What collectives cost, by phase, for Ready and Reduced; and what their failures mean.
#ifndef RONDO_WORKER_RUNTIME_COSTS_H_
#define RONDO_WORKER_RUNTIME_COSTS_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/collectives/communicator.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// What `calls` calls sent and took, in the coordinator's words.
PhaseCost CostOf(CostPhase phase, const TrafficCounters& traffic, absl::Duration time,
                 uint64_t calls);

// Time and bytes of some calls of one communicator, from its construction or from Restart.
class CostMeter {
 public:
  CostMeter(const Communicator& group, Clock* clock) : group_(group), clock_(clock) { Restart(); }

  void Restart() {
    before_ = group_.Counters();
    began_ = clock_->Now();
  }
  PhaseCost Read(CostPhase phase, uint64_t calls) const;

 private:
  const Communicator& group_;
  Clock* const clock_;
  TrafficCounters before_;
  absl::Time began_;
};

// Unavailable, InvalidArgument: a peer; DeadlineExceeded: time; Aborted, FailedPrecondition (a
// group that is already broken): the coordinator; DataLoss: no member is finite; all others: ours.
FailureCause CauseOf(const absl::Status& status);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_COSTS_H_
