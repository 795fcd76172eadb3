#include "worker/runtime/heartbeat.h"

#include <algorithm>
#include <utility>

namespace rondo::worker {
namespace {

// The period changes while it is waited for: a job's own comes with Welcome.
constexpr absl::Duration kPeriodLook = absl::Milliseconds(100);

}  // namespace

Heartbeat::Heartbeat(HeartbeatParts parts) : parts_(std::move(parts)), thread_([this] { Run(); }) {}

Heartbeat::~Heartbeat() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Heartbeat::Run() {
  ProgressReader reader;
  while (true) {
    absl::Duration waited;
    for (absl::Duration left = parts_.period(); left > absl::ZeroDuration();
         left = parts_.period() - waited) {
      const absl::Duration piece = std::min(left, kPeriodLook);
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), piece)) return;
      waited += piece;
    }
    parts_.beat(reader.Read(*parts_.gauges, parts_.clock->Now()));
  }
}

Progress ProgressReader::Read(const LoopGauges& gauges, absl::Time now) {
  Progress progress = gauges.Look(now);
  const uint64_t samples = gauges.samples();
  const double seconds = absl::ToDoubleSeconds(now - at_);
  if (seconds > 0 && at_ != absl::InfinitePast()) {
    progress.samples_per_second = static_cast<double>(samples - samples_) / seconds;
  }
  samples_ = samples;
  at_ = now;
  return progress;
}

}  // namespace rondo::worker
