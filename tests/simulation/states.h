// Parameters as the simulation sees them: a number that stands for its history. A state is made
// from its parent and the work that was averaged into it; work is the samples that one member
// trained on in one order. Where the collective is sparse it also says which pieces were taken.
#ifndef RONDO_TESTS_SIMULATION_STATES_H_
#define RONDO_TESTS_SIMULATION_STATES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/mix64.h"
#include "tests/simulation/pieces.h"

namespace rondo::simulation {

// (epoch, position in its order)
using Sample = std::pair<uint64_t, uint64_t>;

struct Work {
  std::string worker;
  uint64_t round = 0;
  std::vector<Sample> samples;
};

class States {
 public:
  struct State {
    uint64_t parent = 0;
    std::set<uint64_t> work;
    bool sparse = false;  // Of the work some pieces are taken, and others that were left before.
    Pieces delivered;     // All that are taken.
  };

  static constexpr uint64_t kInitial = 0x1A171A1;

  uint64_t AddWork(Work work) {
    work_[++last_work_] = std::move(work);
    return last_work_;
  }
  // The same parent, work and pieces give the same state.
  uint64_t Average(uint64_t parent, const std::set<uint64_t>& work) {
    return Keep({parent, work, false, {}});
  }
  uint64_t Average(uint64_t parent, const std::set<uint64_t>& work, const Pieces& delivered) {
    return Keep({parent, work, true, delivered});
  }
  // The same history, other bits.
  uint64_t Spoil(uint64_t hash, uint64_t salt) {
    const uint64_t spoilt = hash + Mix64(salt);
    states_[spoilt] = states_.at(hash);
    return spoilt;
  }
  const State* Find(uint64_t hash) const {
    const auto it = states_.find(hash);
    return it == states_.end() ? nullptr : &it->second;
  }
  const Work& work(uint64_t id) const { return work_.at(id); }

 private:
  uint64_t Keep(State state) {
    uint64_t hash = Mix64(state.parent + kSplitMix64Gamma);
    for (uint64_t w : state.work) hash += Mix64(w);
    for (const Piece& piece : state.delivered) hash += Mix64(Mix64(piece.first) + piece.second + 1);
    states_[hash] = std::move(state);
    return hash;
  }

  uint64_t last_work_ = 0;
  std::map<uint64_t, Work> work_;
  std::map<uint64_t, State> states_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_STATES_H_
