// Simulated time and chance: everything that happens in a simulation is an event here, and all
// chance comes from one seed. Threads: one.
#ifndef RONDO_TESTS_SIMULATION_WORLD_H_
#define RONDO_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/mix64.h"

namespace rondo::simulation {

class World {
 public:
  explicit World(uint64_t seed) : random_(Mix64(seed + kSplitMix64Gamma)) {}

  absl::Time now() const { return now_; }
  void After(absl::Duration delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));  // Equal times: in the order of their calls.
  }
  // False: nothing is left to happen.
  bool Step() {
    if (events_.empty()) return false;
    auto event = events_.extract(events_.begin());
    now_ = event.key();
    event.mapped()();
    return true;
  }

  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  bool Chance(double probability) { return Unit() < probability; }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return low + (high - low) * Unit();
  }

  // An invariant does not hold. The first one is kept.
  void Violate(const std::string& what) {
    if (violation_.empty()) violation_ = absl::FormatTime(now_, absl::UTCTimeZone()) + " " + what;
  }
  const std::string& violation() const { return violation_; }

  void Log(std::string line) {
    if (keep_log) log_.push_back(absl::FormatTime("%M:%E3S ", now_, absl::UTCTimeZone()) + line);
  }
  const std::vector<std::string>& log() const { return log_; }
  bool keep_log = false;

 private:
  double Unit() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }

  SplitMix64 random_;
  absl::Time now_ = absl::UnixEpoch();
  std::multimap<absl::Time, std::function<void()>> events_;
  std::string violation_;
  std::vector<std::string> log_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_WORLD_H_
