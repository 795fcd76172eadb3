// Simulated time and chance: everything that happens in a simulation is an event here, and all
// chance comes from one seed. Threads: one.
#ifndef RONDO_TESTS_SIMULATION_WORLD_H_
#define RONDO_TESTS_SIMULATION_WORLD_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/mix64.h"

namespace rondo::simulation {

class World {
 public:
  explicit World(uint64_t seed) : seed_(seed), random_(Mix64(seed + kSplitMix64Gamma)) {}

  absl::Time now() const { return now_; }
  // Equal times: in the order of their calls.
  void After(absl::Duration delay, std::function<void()> what) {
    events_.push_back({now_ + std::max(delay, absl::ZeroDuration()), ++calls_, std::move(what)});
    std::push_heap(events_.begin(), events_.end(), Later);
  }
  // False: nothing is left to happen.
  bool Step() {
    if (events_.empty()) return false;
    std::pop_heap(events_.begin(), events_.end(), Later);
    const Event event = std::move(events_.back());
    events_.pop_back();
    CheckSpin(event.at);
    now_ = event.at;
    event.what();
    return true;
  }

  // Chance that takes nothing from the sequence of the others: `salt` says of what.
  uint64_t Aside(uint64_t salt, uint64_t bound) const { return Mix64(Mix64(seed_) + salt) % bound; }
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  bool Chance(double probability) { return probability > 0 && Unit() < probability; }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return low + (high - low) * Unit();
  }

  // Faults happen until `fair_from`.
  void SetFairFrom(absl::Time at) { fair_from_ = at; }
  bool stormy() const { return now_ < fair_from_; }
  absl::Time fair_from() const { return fair_from_; }
  bool Strikes(double probability) { return stormy() && Chance(probability); }

  // An invariant does not hold. The first one is kept.
  void Violate(const std::string& what) {
    if (!violation_.empty()) return;
    violation_ = absl::FormatTime("%M:%E3S ", now_, absl::UTCTimeZone()) + what;
    if (keep_log) Log("VIOLATION: " + what);
  }
  const std::string& violation() const { return violation_; }

  // Only where keep_log: a log costs more than the simulation itself.
  void Log(const std::string& line) {
    if (keep_log) log_.push_back(absl::FormatTime("%M:%E3S ", now_, absl::UTCTimeZone()) + line);
  }
  const std::vector<std::string>& log() const { return log_; }
  bool keep_log = false;

 private:
  struct Event {
    absl::Time at;
    uint64_t call = 0;
    std::function<void()> what;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.call > b.call;
  }
  // A timer that asks for a time that is over, again and again.
  void CheckSpin(absl::Time at) {
    constexpr uint64_t kMost = 100'000;
    if (at - spins_since_ > absl::Milliseconds(1)) {
      spins_since_ = at;
      spins_ = 0;
    }
    if (++spins_ > kMost) Violate("it spins: events without end, and time stands still");
  }
  double Unit() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }

  const uint64_t seed_;
  SplitMix64 random_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time fair_from_ = absl::UnixEpoch();
  uint64_t calls_ = 0;
  absl::Time spins_since_ = absl::UnixEpoch();
  uint64_t spins_ = 0;
  std::vector<Event> events_;  // A heap.
  std::string violation_;
  std::vector<std::string> log_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_WORLD_H_
