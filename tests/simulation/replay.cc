// Plays one seed of one kind of weather with its trace, or many without:
//   bazel run //tests/simulation:replay -- --weather=Kills --seed=17
//   bazel run //tests/simulation:replay -- --weather=Kills --seeds=20000 [--seed=FIRST]
#include <cstdint>
#include <iostream>
#include <string>

#include "tests/simulation/seeds.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/weather.h"

namespace rondo::simulation {
namespace {

int Usage() {
  std::cerr << "replay --weather=NAME --seed=N, or --weather=NAME --seeds=COUNT [--seed=FIRST]; "
               "NAME is one of:";
  for (const Weather& weather : AllWeathers()) std::cerr << " " << weather.name;
  std::cerr << "\n";
  return 2;
}

int Main(int argc, char** argv) {
  std::string name;
  uint64_t seed = 1;
  uint64_t seeds = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--weather=", 0) == 0) {
      name = arg.substr(10);
    } else if (arg.rfind("--seed=", 0) == 0) {
      seed = std::stoull(arg.substr(7));
    } else if (arg.rfind("--seeds=", 0) == 0) {
      seeds = std::stoull(arg.substr(8));
    } else {
      return Usage();
    }
  }
  const Weather* weather = FindWeather(name);
  if (weather == nullptr) return Usage();
  if (seeds > 0) {
    const Tally tally = RunSeeds(*weather, seed, seeds);
    std::cout << Describe(tally);
    if (tally.violation.empty()) return 0;
    std::cout << "seed " << tally.bad_seed << ": " << tally.violation << "\n";
    return 1;
  }
  const Outcome outcome = Simulation(seed, *weather, true).Run();
  for (const std::string& line : outcome.log) std::cout << line << "\n";
  if (outcome.end) std::cout << "ended: " << outcome.end->reason << "\n";
  std::cout << (outcome.violation.empty() ? "no violation" : outcome.violation) << "\n";
  return outcome.violation.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rondo::simulation

int main(int argc, char** argv) { return rondo::simulation::Main(argc, argv); }
