// Many jobs in simulated time. A seed that fails is printed with the command that plays it again:
//   bazel run //tests/simulation:simulation_test -- --gtest_filter=... --seed=N
#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

namespace rondo::simulation {
namespace {

std::optional<uint64_t> g_seed;
uint64_t g_seeds = 300;  // Of each kind of weather.

struct Tally {
  uint64_t commits = 0;
  uint64_t groups = 0;
  uint64_t retries = 0;
  uint64_t done = 0;
  std::map<std::string, uint64_t> ends;  // By the beginning of the reason.
};

// `must_finish`: every job must reach its last step.
Tally RunSeeds(const std::string& test, const Weather& weather, bool must_finish) {
  Tally tally;
  const uint64_t first = g_seed.value_or(1);
  const uint64_t last = g_seed ? *g_seed : g_seeds;
  for (uint64_t seed = first; seed <= last; ++seed) {
    Outcome outcome = Simulation(seed, weather, g_seed.has_value()).Run();
    const bool done = outcome.end && outcome.end->state == server::EndState::kDone;
    if (outcome.violation.empty() && must_finish && !done) {
      outcome.violation = "the job failed: " + (outcome.end ? outcome.end->reason : "");
    }
    for (const std::string& line : outcome.log) std::cout << line << "\n";
    if (!outcome.violation.empty()) {
      ADD_FAILURE() << outcome.violation
                    << "\nagain: bazel run //tests/simulation:simulation_test -- --gtest_filter="
                    << test << " --seed=" << seed;
      return tally;
    }
    tally.commits += outcome.commits;
    tally.groups += outcome.groups;
    tally.retries += outcome.retries;
    tally.done += done ? 1 : 0;
    if (outcome.end) ++tally.ends[outcome.end->reason.substr(0, 40)];
  }
  std::cout << tally.commits << " commits in " << tally.groups << " groups, " << tally.retries
            << " retries\n";
  for (const auto& [reason, count] : tally.ends) std::cout << count << " x " << reason << "\n";
  return tally;
}

TEST(SimulationTest, FairWeatherEndsEveryJob) {
  const Tally tally = RunSeeds("*FairWeatherEndsEveryJob", {}, true);
  if (!g_seed) {
    EXPECT_EQ(tally.retries, 0u);
  }
}

TEST(SimulationTest, ParallelRoundsInFairWeather) {
  RunSeeds("*ParallelRoundsInFairWeather", {.joins = 0.05, .parallel = true}, true);
}

TEST(SimulationTest, WorkersComeAndGoInOrder) {
  RunSeeds("*WorkersComeAndGoInOrder", {.leaves = 0.1, .joins = 0.2}, false);
}

TEST(SimulationTest, WorkersThatAreNotFiniteAreLeftOut) {
  RunSeeds("*WorkersThatAreNotFiniteAreLeftOut", {.joins = 0.1, .not_finite = 0.05}, false);
}

TEST(SimulationTest, WrongResultsAreNeverCommitted) {
  RunSeeds("*WrongResultsAreNeverCommitted", {.breaks = 0.01, .joins = 0.1, .flips = 0.03}, false);
}

TEST(SimulationTest, StreamsBreakAndComeBack) {
  const Tally tally = RunSeeds("*StreamsBreakAndComeBack", {.breaks = 0.05, .joins = 0.05}, true);
  if (!g_seed) {
    EXPECT_GT(tally.commits, 0u);
  }
}

TEST(SimulationTest, ParallelRoundsGoOnOverBrokenStreams) {
  RunSeeds("*ParallelRoundsGoOnOverBrokenStreams",
           {.breaks = 0.01, .joins = 0.05, .parallel = true}, true);
}

TEST(SimulationTest, ParallelRoundsEndWhenWorkersDie) {
  RunSeeds("*ParallelRoundsEndWhenWorkersDie",
           {.breaks = 0.005, .kills = 0.2, .leaves = 0.1, .joins = 0.1, .parallel = true}, false);
}

TEST(SimulationTest, WorkersAreKilledAndReplaced) {
  const Tally tally =
      RunSeeds("*WorkersAreKilledAndReplaced",
               {.breaks = 0.005, .kills = 0.3, .leaves = 0.02, .joins = 0.05}, false);
  if (!g_seed) {
    EXPECT_GT(tally.retries, 0u);
  }
}

}  // namespace
}  // namespace rondo::simulation

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--seed=", 0) == 0) rondo::simulation::g_seed = std::stoull(arg.substr(7));
    if (arg.rfind("--seeds=", 0) == 0) rondo::simulation::g_seeds = std::stoull(arg.substr(8));
  }
  return RUN_ALL_TESTS();
}
