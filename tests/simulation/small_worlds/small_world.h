// A coordinator core and one to three plain workers, in which whatever may happen next is an
// action: all orders of a few actions can be tried, one by one. After each action the core's
// decisions must be those of PlainRules.
#ifndef RONDO_TESTS_SIMULATION_SMALL_WORLDS_SMALL_WORLD_H_
#define RONDO_TESTS_SIMULATION_SMALL_WORLDS_SMALL_WORLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/job_machine.h"
#include "tests/simulation/small_worlds/plain_rules.h"
#include "tests/simulation/small_worlds/plain_worker.h"

namespace rondo::small_worlds {

enum class Act {
  kHear,    // The worker takes what the coordinator has sent to it.
  kSay,     // The worker's next message arrives.
  kFinish,  // Its collective ends with the result,
  kFlip,    // with a wrong result,
  kBreak,   // or, after a member has gone, with a failure.
  kDrop,    // Its stream breaks; what is in flight is lost.
  kDial,    // It dials again.
  kKill,    // Its process ends, a new one under its name is there.
  kGhost,   // Its last Hello comes a second time, on another stream.
  kStray,   // A message that was lost with a stream comes after all.
  kTime,    // Time goes on until the coordinator's next timer, all heartbeats included.
};

struct Action {
  Act act = Act::kHear;
  size_t worker = 0;
};
std::string Describe(const Action& action);

// How many faults a history may hold.
struct Budget {
  int drops = 1;
  int kills = 1;
  int flips = 0;
  int strays = 0;
  int timers = 3;
};

class SmallWorld {
 public:
  SmallWorld(size_t workers, Budget budget);

  std::vector<Action> Possible() const;
  // What is wrong, or empty.
  std::string Do(const Action& action);
  // Nothing worth looking at follows.
  bool over() const { return over_; }
  uint64_t commits() const { return commits_; }
  // Two worlds of the same key have the same future.
  std::string Key() const;

 private:
  struct Stray {
    Who who;
    uint64_t stream = 0;
    server::WorkerBody body;
  };

  std::string Drop(PlainWorker& worker);
  std::string Dial(PlainWorker& worker);
  std::string Ghost(const PlainWorker& worker);
  std::string Say(const Who& who, uint64_t stream, const server::WorkerBody& body);
  std::string PassTime();
  // Gives it to the core and compares what both decide.
  std::string Both(const server::Event& event, PlainRules::Decisions expected);
  bool AllJoined(const Reduction& reduction) const;
  bool SomeGone(const Reduction& reduction) const;
  uint64_t ResultOf(const Reduction& reduction) const;

  const size_t count_;
  Budget budget_;
  absl::Time now_ = absl::UnixEpoch();
  server::JobMachine machine_;
  PlainRules rules_;
  absl::Time wake_at_;
  uint64_t last_stream_ = 0;
  std::vector<PlainWorker> workers_;
  std::map<uint64_t, Who> streams_;
  std::map<Reduction, std::vector<Who>> asked_;  // Who was asked to reduce.
  std::optional<Stray> stray_;
  std::set<std::string> said_;  // Attempts that both have begun.
  uint64_t commits_ = 0;
  bool over_ = false;
};

}  // namespace rondo::small_worlds

#endif  // RONDO_TESTS_SIMULATION_SMALL_WORLDS_SMALL_WORLD_H_
