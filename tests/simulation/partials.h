// The partials of long rounds on the coordinator's disk (server/edge/partial_store), as the
// simulation sees them: what a member has in the middle of a round.
#ifndef RONDO_TESTS_SIMULATION_PARTIALS_H_
#define RONDO_TESTS_SIMULATION_PARTIALS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/pieces.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

struct Partial {
  uint64_t base = 0;            // The state that the round starts from.
  uint64_t first_step = 0;      // Of the round.
  std::vector<Sample> samples;  // Trained so far.
  bool finite = true;
  bool spoils_moments = false;
  Pieces residual = {};  // As at the round's start.
};

class Partials {
 public:
  explicit Partials(World* world) : world_(world) {}

  // It arrives after a while, if it does. `members`: of the round's order.
  void Put(uint64_t round, uint64_t step, const std::string& worker, size_t members,
           Partial partial) {
    if (world_->Strikes(0.05)) return;
    world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(500)),
                  [this, round, step, worker, members, partial = std::move(partial)]() {
                    kept_[round][step][worker] = partial;
                    if (kept_[round][step].size() < members) return;
                    kept_.erase(kept_.begin(), kept_.find(round));
                    kept_[round].erase(kept_[round].begin(), kept_[round].find(step));
                  });
  }

  // The newest step of the round that all of them have.
  std::optional<uint64_t> NewestOf(uint64_t round, const std::vector<std::string>& workers) const {
    const auto of_round = kept_.find(round);
    if (of_round == kept_.end()) return std::nullopt;
    for (auto step = of_round->second.rbegin(); step != of_round->second.rend(); ++step) {
      const bool all = std::all_of(workers.begin(), workers.end(), [&](const std::string& worker) {
        return step->second.contains(worker);
      });
      if (all) return step->first;
    }
    return std::nullopt;
  }

  // Of the newest round that has it.
  const Partial* Find(uint64_t step, const std::string& worker) const {
    for (auto round = kept_.rbegin(); round != kept_.rend(); ++round) {
      const auto of_step = round->second.find(step);
      if (of_step == round->second.end()) continue;
      const auto found = of_step->second.find(worker);
      if (found != of_step->second.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  World* const world_;
  // By round, step, worker.
  std::map<uint64_t, std::map<uint64_t, std::map<std::string, Partial>>> kept_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_PARTIALS_H_
