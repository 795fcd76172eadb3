#include "worker/runtime/costs.h"

namespace rondo::worker {

PhaseCost CostOf(CostPhase phase, const TrafficCounters& traffic, absl::Duration time,
                 uint64_t calls) {
  return {.phase = phase,
          .bytes_sent = static_cast<uint64_t>(traffic.payload_bytes_sent),
          .bytes_received = static_cast<uint64_t>(traffic.payload_bytes_received),
          .header_bytes_sent = static_cast<uint64_t>(traffic.header_bytes_sent),
          .seconds = absl::ToDoubleSeconds(time),
          .calls = calls};
}

PhaseCost CostMeter::Read(CostPhase phase, uint64_t calls) const {
  return CostOf(phase, group_.Counters() - before_, clock_->Now() - began_, calls);
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
