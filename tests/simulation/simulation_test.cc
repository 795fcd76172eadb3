// Many jobs in simulated time, a test for each kind of weather (weather.cc). A seed that breaks an
// invariant is printed with the command that plays it again with its trace. RONDO_SEEDS sets how
// many seeds each test runs, RONDO_FIRST_SEED where it begins.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/simulation/seeds.h"
#include "tests/simulation/weather.h"

namespace rondo::simulation {
namespace {

// Over all kinds of weather.
constexpr uint64_t kSeedsInAll = 5'000;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

class SimulationTest : public testing::TestWithParam<Weather> {};

TEST_P(SimulationTest, KeepsEveryInvariant) {
  const Weather& weather = GetParam();
  const uint64_t each = (kSeedsInAll + AllWeathers().size() - 1) / AllWeathers().size();
  const Tally tally = RunSeeds(weather, FromEnvironment("RONDO_FIRST_SEED", 1),
                               FromEnvironment("RONDO_SEEDS", each));
  std::cout << Describe(tally);
  EXPECT_EQ(tally.violation, "")
      << "again, with its trace:\n  bazel run //tests/simulation:replay -- --weather="
      << weather.name << " --seed=" << tally.bad_seed;
}

INSTANTIATE_TEST_SUITE_P(Weather, SimulationTest, testing::ValuesIn(AllWeathers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rondo::simulation
