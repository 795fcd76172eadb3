#include "worker/runtime/heartbeat.h"

#include <utility>

namespace rondo::worker {

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
    const absl::Duration period = parts_.period();
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period);
      if (stopping_) return;
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
