// What the core decides and what the rules decide, in the same words.
#ifndef RONDO_TESTS_SIMULATION_SMALL_WORLDS_IN_WORDS_H_
#define RONDO_TESTS_SIMULATION_SMALL_WORLDS_IN_WORDS_H_

#include <set>
#include <string>
#include <vector>

#include "server/core/job_machine.h"
#include "tests/simulation/small_worlds/plain_rules.h"

namespace rondo::small_worlds {

struct Words {
  std::vector<std::string> records;
  std::vector<std::string> messages;
  bool operator==(const Words&) const = default;
};

// `attempts`: those that were begun before; a Reduce that is sent again says nothing new.
Words InWords(const server::Effects& effects, std::set<std::string>* attempts);
Words InWords(const PlainRules::Decisions& decisions);

}  // namespace rondo::small_worlds

#endif  // RONDO_TESTS_SIMULATION_SMALL_WORLDS_IN_WORDS_H_
