// What went through the relay, as far as a verdict needs it.
#ifndef RONDO_TESTS_CHAOS_OVERHEARD_H_
#define RONDO_TESTS_CHAOS_OVERHEARD_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>

#include "tests/chaos/relay.h"

namespace rondo::chaos {

// An attempt at a round's result; number 0 in parallel mode.
struct AttemptKey {
  uint64_t round = 0;
  uint64_t group = 0;
  uint32_t attempt = 0;
  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

// Threads: one at a time, as the relay's witness is called.
class Overheard {
 public:
  void Add(const Passing& passing);

  // State hashes by attempt: what the workers said, what the coordinator said.
  const std::map<AttemptKey, std::set<uint64_t>>& reported() const { return reported_; }
  const std::map<AttemptKey, std::set<uint64_t>>& committed() const { return committed_; }

 private:
  std::map<AttemptKey, std::set<uint64_t>> reported_;
  std::map<AttemptKey, std::set<uint64_t>> committed_;
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_OVERHEARD_H_
