#include "tests/simulation/weather.h"

namespace rondo::simulation {

const std::vector<Weather>& AllWeathers() {
  static const auto* const kAll = new std::vector<Weather>{
      {.name = "Fair"},
      {.name = "FairParallel", .rounds = Rounds::kParallel},
      {.name = "FairMixed", .rounds = Rounds::kMixed, .joins = 0.1},
      {.name = "ComeAndGo", .leaves = 0.1, .joins = 0.2},
      {.name = "NotFinite", .must_end = MustEnd::kLegally, .joins = 0.1, .not_finite = 0.05},
      {.name = "WrongResults",
       .must_end = MustEnd::kLegally,
       .breaks = 0.02,
       .joins = 0.1,
       .flips = 0.08},
      {.name = "BrokenStreams", .breaks = 0.05, .slow = 0.002, .joins = 0.05},
      {.name = "BrokenStreamsParallel", .rounds = Rounds::kMixed, .breaks = 0.01, .joins = 0.05},
      {.name = "Kills", .breaks = 0.005, .kills = 0.2, .joins = 0.05, .dies = 0.01},
      {.name = "KillsParallel",
       .rounds = Rounds::kMixed,
       .must_end = MustEnd::kLegally,
       .breaks = 0.005,
       .kills = 0.1,
       .leaves = 0.05,
       .joins = 0.1,
       .dies = 0.001},
      {.name = "Freezes", .breaks = 0.003, .slow = 0.002, .freezes = 0.2, .joins = 0.03},
      {.name = "Stalls", .stalls = 0.03, .joins = 0.03},
      {.name = "HalfDone", .must_end = MustEnd::kLegally, .joins = 0.05, .half_done = 0.1},
      {.name = "Restarts", .joins = 0.05, .crashes = 0.08, .stuns = 0.02},
      {.name = "JournalCrashes",
       .breaks = 0.003,
       .joins = 0.05,
       .crash_before = 0.01,
       .crash_after = 0.01,
       .crash_amid = 0.005,
       .unknown = 0.01},
      {.name = "RestartsParallel",
       .rounds = Rounds::kMixed,
       .joins = 0.05,
       .crashes = 0.05,
       .crash_before = 0.005,
       .crash_after = 0.005,
       .crash_amid = 0.002},
      {.name = "RestartsAndKills",
       .must_end = MustEnd::kLegally,
       .breaks = 0.005,
       .kills = 0.05,
       .freezes = 0.03,
       .joins = 0.05,
       .dies = 0.002,
       .flips = 0.02,
       .half_done = 0.02,
       .crash_before = 0.005,
       .crash_after = 0.005,
       .crash_amid = 0.003,
       .unknown = 0.005},
      {.name = "DiskFull", .breaks = 0.003, .joins = 0.05, .disk_full = 0.01},
      {.name = "Storm",
       .rounds = Rounds::kMixed,
       .must_end = MustEnd::kLegally,
       .breaks = 0.01,
       .twice = 0.05,
       .slow = 0.003,
       .kills = 0.08,
       .freezes = 0.08,
       .stalls = 0.01,
       .leaves = 0.03,
       .joins = 0.1,
       .massacres = 0.005,
       .dies = 0.001,
       .not_finite = 0.01,
       .flips = 0.005,
       .half_done = 0.005,
       .stuns = 0.01,
       .crash_before = 0.002,
       .crash_after = 0.002,
       .crash_amid = 0.001,
       .unknown = 0.002,
       .disk_full = 0.001},
  };
  return *kAll;
}

const Weather* FindWeather(const std::string& name) {
  for (const Weather& weather : AllWeathers()) {
    if (weather.name == name) return &weather;
  }
  return nullptr;
}

}  // namespace rondo::simulation
