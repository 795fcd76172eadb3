#include "worker/runtime/costs.h"

namespace rondo::worker {

PhaseCost CostMeter::Read(CostPhase phase, uint64_t calls) const {
  const TrafficCounters now = group_.Counters();
  PhaseCost cost;
  cost.phase = phase;
  cost.bytes_sent = static_cast<uint64_t>(now.payload_bytes_sent - before_.payload_bytes_sent);
  cost.bytes_received =
      static_cast<uint64_t>(now.payload_bytes_received - before_.payload_bytes_received);
  cost.header_bytes_sent = static_cast<uint64_t>(now.header_bytes_sent - before_.header_bytes_sent);
  cost.seconds = absl::ToDoubleSeconds(clock_->Now() - began_);
  cost.calls = calls;
  return cost;
}

FailureCause CauseOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInvalidArgument:
      return FailureCause::kPeer;
    case absl::StatusCode::kDeadlineExceeded:
      return FailureCause::kTimeout;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return FailureCause::kAborted;
    case absl::StatusCode::kDataLoss:
      return FailureCause::kNoFactor;
    default:
      return FailureCause::kInternal;
  }
}

}  // namespace rondo::worker
