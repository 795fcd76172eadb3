#include "server/core/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/mix64.h"

namespace rondo {
namespace {

using Json = nlohmann::json;

Json Vectors() {
  std::ifstream in("server/core/testdata/qsr-vectors.json");
  return Json::parse(in);
}

ScheduleKind KindOf(const std::string& word) {
  if (word == "cosine") return ScheduleKind::kCosine;
  if (word == "linear") return ScheduleKind::kLinear;
  if (word == "step") return ScheduleKind::kStep;
  if (word == "cosine_step") return ScheduleKind::kCosineStep;
  if (word == "wsd") return ScheduleKind::kWsd;
  EXPECT_EQ(word, "constant");
  return ScheduleKind::kConstant;
}

ScheduleConfig ScheduleOf(const Json& v) {
  const Json& options = v["options"];
  return {.kind = KindOf(v["schedule"]),
          .steps = v["steps"],
          .peak = v["peak"],
          .final = v["final"],
          .warmup_steps = v["warmup_steps"],
          .gamma = options.value("gamma", 1.0),
          .drop_steps = options.value("at_steps", std::vector<int64_t>{}),
          .rounding_base = options.value("rounding_base", 2.0),
          .decay_steps = options.value("decay_steps", int64_t{0})};
}

PolicyConfig PolicyOf(const Json& v) {
  const bool power = v["policy"] == "power";
  EXPECT_TRUE(power || v["policy"] == "constant");
  return {.policy = power ? SyncPolicy::kPower : SyncPolicy::kConstant,
          .alpha = v["alpha"],
          .base_steps = v["base_steps"],
          .power = v["power"],
          .max_steps = v["max_steps"]};
}

// All round lengths by asking at one border after the other: the plain walk a coordinator does.
std::vector<int64_t> WalkedLengths(const PolicyConfig& policy, const ScheduleConfig& schedule) {
  std::vector<int64_t> lengths;
  for (int64_t t = 0; t < schedule.steps; t += lengths.back()) {
    lengths.push_back(DecideRound(policy, schedule, t).length);
  }
  return lengths;
}

std::vector<int64_t> Unrolled(const PlanSummary& plan) {
  std::vector<int64_t> lengths;
  for (const LengthRun& run : plan.lengths) lengths.insert(lengths.end(), run.count, run.length);
  return lengths;
}

class VectorTest : public testing::TestWithParam<Json> {};

TEST_P(VectorTest, HasTheGivenRounds) {
  const Json& v = GetParam();
  const PlanSummary plan = ComputePlan(PolicyOf(v), ScheduleOf(v));
  EXPECT_EQ(plan.steps, v["steps"].get<int64_t>());
  EXPECT_EQ(plan.rounds, v["rounds"].get<int64_t>());
  EXPECT_EQ(plan.syncs, v["rounds"].get<int64_t>());
  EXPECT_EQ(plan.longest_round, v["longest"].get<int64_t>());
  EXPECT_EQ(plan.checksum, v["checksum"].get<uint32_t>());
  const std::vector<int64_t> lengths = Unrolled(plan);
  ASSERT_GE(lengths.size(), 3u);
  EXPECT_EQ(std::vector<int64_t>(lengths.end() - 3, lengths.end()),
            v["last_three"].get<std::vector<int64_t>>());
  EXPECT_EQ(lengths, WalkedLengths(PolicyOf(v), ScheduleOf(v)));
  if (!v.contains("lengths_rle")) return;
  std::vector<LengthRun> expected;
  for (const Json& run : v["lengths_rle"]) expected.push_back({run[0], run[1]});
  EXPECT_EQ(plan.lengths, expected);
}

std::string NameOf(const Json& v) {
  std::string name = v["name"];
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Qsr, VectorTest, testing::ValuesIn(Vectors().get<std::vector<Json>>()),
                         [](const auto& info) { return NameOf(info.param); });

// Why H is computed in one place, from the rate in double: from rates rounded to float32 1,291 of
// the 83,600 steps after warm-up would give another H.
TEST(PlanTest, RatesInSinglePrecisionWouldGiveOtherLengths) {
  const Json v = Vectors()[0];
  const ScheduleConfig schedule = ScheduleOf(v);
  int64_t different = 0;
  for (int64_t t = schedule.warmup_steps; t < schedule.steps; ++t) {
    const double rate = RateAt(schedule, t);
    const auto length = [&](double r) {
      return PowerRuleLength(v["alpha"], r, 2, v["base_steps"], int64_t{1} << 40);
    };
    different += length(static_cast<float>(rate)) != length(rate);
  }
  EXPECT_EQ(different, 1291);
}

TEST(PlanTest, ParallelRoundsHaveASyncAStep) {
  const PlanSummary plan =
      ComputePlan({.round_steps = 10}, {.kind = ScheduleKind::kConstant, .steps = 105, .peak = 1});
  EXPECT_EQ(plan.rounds, 11);
  EXPECT_EQ(plan.syncs, 105);
  EXPECT_EQ(plan.percent_of_parallel, 100);
  EXPECT_EQ(plan.longest_round, 10);
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{10, 10}, {5, 1}}));
}

TEST(PlanTest, PostLocalCountsBothKinds) {
  const PlanSummary plan = ComputePlan(
      {.policy = SyncPolicy::kPostLocal, .base_steps = 4, .switch_step = 30, .round_steps = 20},
      {.kind = ScheduleKind::kConstant, .steps = 100, .peak = 1});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{20, 1}, {10, 1}, {4, 17}, {2, 1}}));
  EXPECT_EQ(plan.syncs, 30 + 18);
  EXPECT_EQ(plan.percent_of_parallel, 48);
}

TEST(PlanTest, SwapEndsWithOneLongRound) {
  const PlanSummary plan =
      ComputePlan({.policy = SyncPolicy::kSwap, .base_steps = 4, .switch_step = 30},
                  {.kind = ScheduleKind::kConstant, .steps = 100, .peak = 1});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{4, 7}, {2, 1}, {70, 1}}));
  EXPECT_EQ(plan.longest_first_step, 30);
}

TEST(PlanTest, ASwitchBeyondTheEndNeverComes) {
  const PlanSummary plan =
      ComputePlan({.policy = SyncPolicy::kSwap, .base_steps = 4, .switch_step = 1000},
                  {.kind = ScheduleKind::kConstant, .steps = 10, .peak = 1});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{4, 2}, {2, 1}}));
}

TEST(PlanTest, TableRowsCutRounds) {
  const PlanSummary plan =
      ComputePlan({.policy = SyncPolicy::kTable, .table = {{0, 4}, {10, 6}, {40, 25}}},
                  {.kind = ScheduleKind::kConstant, .steps = 100, .peak = 1});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{4, 2}, {2, 1}, {6, 5}, {25, 2}, {10, 1}}));
}

TEST(PlanTest, AWarmupLongerThanTheRunHasTheBaseThroughout) {
  const PlanSummary plan = ComputePlan(
      {.policy = SyncPolicy::kPower, .alpha = 1e9, .base_steps = 3},
      {.kind = ScheduleKind::kCosine, .steps = 10, .peak = 1, .final = 0, .warmup_steps = 50});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{3, 3}, {1, 1}}));
}

TEST(PlanTest, ARoundThatStraddlesTheEndOfWarmupKeepsItsLength) {
  const PlanSummary plan = ComputePlan(
      {.policy = SyncPolicy::kPower, .alpha = 2, .base_steps = 4},
      {.kind = ScheduleKind::kConstant, .steps = 30, .peak = 0.5, .final = 0, .warmup_steps = 6});
  EXPECT_EQ(plan.lengths, (std::vector<LengthRun>{{4, 2}, {16, 1}, {6, 1}}));
}

TEST(PlanTest, AHundredMillionParallelStepsAreFewVisits) {
  int visits = 0;
  const ScheduleConfig schedule = {
      .kind = ScheduleKind::kCosine, .steps = 100'000'003, .peak = 1, .final = 0};
  VisitRounds({.round_steps = 50}, schedule, [&](const RoundRun&) { ++visits; });
  EXPECT_EQ(visits, 2);
  EXPECT_EQ(ComputePlan({.round_steps = 50}, schedule).syncs, 100'000'003);
}

ScheduleConfig RandomSchedule(SplitMix64& random) {
  constexpr ScheduleKind kKinds[] = {ScheduleKind::kConstant,   ScheduleKind::kCosine,
                                     ScheduleKind::kLinear,     ScheduleKind::kStep,
                                     ScheduleKind::kCosineStep, ScheduleKind::kWsd};
  ScheduleConfig s;
  s.kind = kKinds[random.Below(6)];
  s.steps = 1 + static_cast<int64_t>(random.Below(600));
  s.peak = 0.001 * static_cast<double>(1 + random.Below(1000));
  s.final = random.Below(3) == 0 ? 0 : s.peak * 0.01;
  s.warmup_steps = random.Below(2) == 0 ? 0 : static_cast<int64_t>(random.Below(700));
  s.gamma = 0.1;
  for (int64_t at = 0; at < 500;) {
    at += 1 + static_cast<int64_t>(random.Below(200));
    s.drop_steps.push_back(at);
  }
  s.decay_steps = 1 + static_cast<int64_t>(random.Below(s.steps));
  s.decay = random.Below(2) == 0 ? DecayShape::kLinear : DecayShape::kCosine;
  return s;
}

PolicyConfig RandomPolicy(SplitMix64& random) {
  constexpr SyncPolicy kPolicies[] = {SyncPolicy::kParallel, SyncPolicy::kConstant,
                                      SyncPolicy::kPower,    SyncPolicy::kPostLocal,
                                      SyncPolicy::kSwap,     SyncPolicy::kTable};
  PolicyConfig p;
  p.policy = kPolicies[random.Below(6)];
  p.alpha = 0.001 * static_cast<double>(1 + random.Below(2000));
  p.base_steps = 1 + static_cast<int64_t>(random.Below(12));
  p.power = static_cast<double>(1 + random.Below(3));
  p.max_steps = random.Below(2) == 0 ? 0 : p.base_steps + static_cast<int64_t>(random.Below(40));
  p.switch_step = static_cast<int64_t>(random.Below(700));
  for (int64_t from = 0; from < 500; from += 1 + static_cast<int64_t>(random.Below(100))) {
    p.table.push_back({from, 1 + static_cast<int64_t>(random.Below(20))});
  }
  p.round_steps = 1 + static_cast<int64_t>(random.Below(60));
  return p;
}

TEST(PlanPropertyTest, RoundsFillTheRunAndEqualThePlainWalk) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SplitMix64 random(seed);
    const ScheduleConfig schedule = RandomSchedule(random);
    const PolicyConfig policy = RandomPolicy(random);
    const PlanSummary plan = ComputePlan(policy, schedule);
    int64_t steps = 0, rounds = 0;
    uint32_t checksum = 0;
    for (int64_t length : WalkedLengths(policy, schedule)) {
      ASSERT_GE(length, 1) << "seed " << seed;
      steps += length;
      checksum += static_cast<uint32_t>(++rounds) * static_cast<uint32_t>(length);
    }
    ASSERT_EQ(steps, schedule.steps) << "seed " << seed;
    ASSERT_EQ(Unrolled(plan), WalkedLengths(policy, schedule)) << "seed " << seed;
    ASSERT_EQ(plan.rounds, rounds) << "seed " << seed;
    ASSERT_EQ(plan.checksum, checksum) << "seed " << seed;
  }
}

TEST(RoundChecksumTest, GoesOnFromAGivenPoint) {
  RoundChecksum whole;
  for (int i = 0; i < 10; ++i) whole.Add(1 + i);
  RoundChecksum part;
  for (int i = 0; i < 4; ++i) part.Add(1 + i);
  RoundChecksum rest(part.rounds(), part.value());
  for (int i = 4; i < 10; ++i) rest.Add(1 + i);
  EXPECT_EQ(rest.value(), whole.value());
  EXPECT_EQ(rest.rounds(), 10);
}

TEST(RoundChecksumTest, ManyAtOnceEqualOneByOne) {
  for (int64_t count : {1, 2, 7, 70000}) {
    RoundChecksum at_once(3, 5), one_by_one(3, 5);
    at_once.Add(60000, count);
    for (int64_t i = 0; i < count; ++i) one_by_one.Add(60000);
    EXPECT_EQ(at_once.value(), one_by_one.value());
  }
}

TEST(CostTest, PartialsAreCountedInsideLongRoundsOnly) {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::kConstant;
  schedule.peak = 0.1;
  schedule.steps = 50;
  PolicyConfig policy;
  policy.policy = SyncPolicy::kTable;
  policy.table = {{0, 4}, {8, 21}};                       // 4, 4, 21 (8 to 29), 21 (29 to 50).
  EXPECT_EQ(CountPartials(policy, schedule, 4), 5 + 5);   // 12, ..., 28; 32, ..., 48.
  EXPECT_EQ(CountPartials(policy, schedule, 20), 1 + 1);  // 20; 40.
  EXPECT_EQ(CountPartials(policy, schedule, 21), 0);
}

TEST(CostTest, RingBytesAreTwoTimesTheSharesOfTheOthers) {
  EXPECT_EQ(RingBytesPerSync(1, 100), 0);
  EXPECT_EQ(RingBytesPerSync(2, 100), 400);
  EXPECT_EQ(RingBytesPerSync(4, 100), 600);
  EXPECT_EQ(RingBytesPerSync(3, 100), 533);
}

// The first ViT row of the paper's wall-time table: 0.748 s a step; 93,600 syncs take 7.25 h; 20.2
// h with the 9,711 syncs of the rule.
TEST(CostTest, GivesThePapersHours) {
  const double sync = 7.25 * 3600 / 93600;
  EXPECT_NEAR(PredictSeconds(93600, 93600, 0.748, sync) / 3600, 26.7, 0.05);
  EXPECT_NEAR(PredictSeconds(93600, 9711, 0.748, sync) / 3600, 20.2, 0.05);
}

}  // namespace
}  // namespace rondo
