// Many seeds of one kind of weather.
#ifndef RONDO_TESTS_SIMULATION_SEEDS_H_
#define RONDO_TESTS_SIMULATION_SEEDS_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/simulation/weather.h"

namespace rondo::simulation {

struct Tally {
  uint64_t seeds = 0;
  uint64_t commits = 0;
  uint64_t groups = 0;
  uint64_t retries = 0;
  uint64_t voids = 0;
  uint64_t rewinds = 0;
  uint64_t resumed = 0;
  uint64_t terms = 0;
  uint64_t done = 0;
  std::map<std::string, uint64_t> ends;  // By the beginning of the reason.
  // Of the first seed that broke an invariant.
  uint64_t bad_seed = 0;
  std::string violation;
};

// Stops at the first violation.
Tally RunSeeds(const Weather& weather, uint64_t first, uint64_t count);
std::string Describe(const Tally& tally);

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SEEDS_H_
