// A worker as plain as it can be: it does at once whatever it is told, and never errs.
#ifndef RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_WORKER_H_
#define RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_WORKER_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "tests/simulation/small_worlds/plain_rules.h"

namespace rondo::small_worlds {

// One attempt of a round.
struct Reduction {
  uint64_t round = 0, group = 0, attempt = 0;
  auto operator<=>(const Reduction&) const = default;
};

struct PlainWorker {
  Who who;
  uint64_t dial = 0;
  uint64_t stream = 0;  // 0: none.
  bool new_process = true;
  uint64_t holds = 0;
  uint64_t hash = 0;
  uint64_t group = 0;
  uint64_t takes_round = 0;  // With the group's state.
  uint64_t takes_hash = 0;
  uint64_t order = 0;  // Its steps are done as soon as it has it.
  std::optional<Reduction> reducing;
  std::optional<PlainHello::Staged> staged;
  std::vector<server::CoordinatorBody> down;  // Sent to it, not heard yet.
  std::deque<server::WorkerBody> up;          // Said by it, not arrived yet.

  // What it says on a new stream, to the core and to the rules.
  server::Hello MakeHello() const;
  PlainHello MakePlainHello() const;

  // Takes all that was sent to it.
  void Hear();
  // Its collective ends; `result` nothing: with a failure.
  void EndReduce(std::optional<uint64_t> result);
  bool HasResult(const Reduction& reduction) const;
  std::string Key() const;

  void On(const server::Welcome& welcome);
  void On(const server::Assemble& assemble);
  void On(const server::Mesh& mesh);
  void On(const server::Order& order);
  void On(const server::Reduce& reduce);
  void On(const server::Commit& commit);
  void On(const server::Abort& abort);
  template <typename T>
  void On(const T&) {}
  void SayReady();
  void SayReduced();
};

}  // namespace rondo::small_worlds

#endif  // RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_WORKER_H_
