// The coordinator's schedules and policies against the golden cases: first step and length of every
// round, and the rate it starts with.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/core/plan.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo {
namespace {

using Json = nlohmann::json;

Json Read(const std::string& name, const std::string& file) {
  std::ifstream in("tests/golden/public/" + name + "/" + file);
  return Json::parse(in);
}

ScheduleConfig ScheduleOf(const Json& settings) {
  const Json& lr = settings["lr"];
  const std::string kind = lr["schedule"];
  return {.kind = kind == "cosine"   ? ScheduleKind::kCosine
                  : kind == "linear" ? ScheduleKind::kLinear
                                     : ScheduleKind::kConstant,
          .steps = settings["steps"],
          .peak = lr["max"],
          .final = lr["final"],
          .warmup_steps = lr["warmup_steps"]};
}

PolicyConfig PolicyOf(const Json& settings) {
  const Json& sync = settings["sync"];
  if (sync["policy"] == "constant") {
    return {.policy = SyncPolicy::kConstant, .base_steps = sync["h"]};
  }
  if (sync["policy"] == "power") {
    return {.policy = SyncPolicy::kPower,
            .alpha = sync["alpha"],
            .base_steps = sync["h_base"],
            .power = sync["p"]};
  }
  return {.policy = SyncPolicy::kParallel, .round_steps = sync["round_steps"]};
}

class PlanGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(PlanGoldenTest, RoundsAndRatesAreTheGivenOnes) {
  const Json settings = Read(GetParam(), "case.json");
  const Json rounds = Read(GetParam(), "expected.json")["rounds"];
  const ScheduleConfig schedule = ScheduleOf(settings);
  std::vector<int64_t> starts, lengths;
  std::vector<double> rates;
  VisitRounds(PolicyOf(settings), schedule, [&](const RoundRun& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      starts.push_back(run.first_step + i * run.length);
      lengths.push_back(run.length);
      rates.push_back(RateAt(schedule, starts.back()));
    }
  });
  EXPECT_EQ(starts, rounds["start"].get<std::vector<int64_t>>());
  EXPECT_EQ(lengths, rounds["H"].get<std::vector<int64_t>>());
  const auto expected = rounds["lr"].get<std::vector<double>>();
  ASSERT_EQ(rates.size(), expected.size());
  // The same formula in the same precision: at most the last bits of a cosine differ.
  for (size_t i = 0; i < rates.size(); ++i)
    EXPECT_DOUBLE_EQ(rates[i], expected[i]) << "round " << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, PlanGoldenTest,
                         testing::Values("p1", "q1", "q2", "q3", "q4", "s1", "s2"));

}  // namespace
}  // namespace rondo
