#include "server/core/policy.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo {
namespace {

constexpr int64_t kEnd = 100;

ScheduleConfig Constant(double peak, int64_t steps = kEnd) {
  return {.kind = ScheduleKind::kConstant, .steps = steps, .peak = peak};
}

struct Case {
  std::string name;
  PolicyConfig policy;
  ScheduleConfig schedule;
  int64_t step;
  RoundMode mode;
  int64_t length;
};

const PolicyConfig kPostLocal = {
    .policy = SyncPolicy::kPostLocal, .base_steps = 8, .switch_step = 30, .round_steps = 20};
const PolicyConfig kSwap = {.policy = SyncPolicy::kSwap, .base_steps = 4, .switch_step = 30};
const PolicyConfig kTable = {.policy = SyncPolicy::kTable, .table = {{0, 4}, {10, 6}, {40, 200}}};
const PolicyConfig kQsr = {.policy = SyncPolicy::kPower, .alpha = 1, .base_steps = 4};

PolicyConfig Capped(PolicyConfig policy, int64_t max_steps) {
  policy.max_steps = max_steps;
  return policy;
}

const ScheduleConfig kWarm = {
    .kind = ScheduleKind::kConstant, .steps = 100, .peak = 0.1, .final = 0, .warmup_steps = 10};

constexpr RoundMode kParallel = RoundMode::kParallel;
constexpr RoundMode kLocal = RoundMode::kLocal;

const Case kCases[] = {
    {"ParallelTakesRoundSteps", {.round_steps = 30}, Constant(1), 0, kParallel, 30},
    {"ParallelIsCutAtTheEnd", {.round_steps = 30}, Constant(1), 90, kParallel, 10},
    {"ParallelKnowsNoMaximum", Capped({.round_steps = 30}, 5), Constant(1), 0, kParallel, 30},
    {"ConstantTakesItsBase",
     {.policy = SyncPolicy::kConstant, .base_steps = 4},
     Constant(1),
     4,
     kLocal,
     4},
    {"ConstantIsCutAtTheEnd",
     {.policy = SyncPolicy::kConstant, .base_steps = 4},
     Constant(1, 103),
     100,
     kLocal,
     3},
    {"BaseLongerThanTheRunIsOneRound",
     {.policy = SyncPolicy::kConstant, .base_steps = 1000},
     Constant(1),
     0,
     kLocal,
     100},
    {"WarmupHasTheBase", kQsr, kWarm, 9, kLocal, 4},
    {"TheFirstStepAfterWarmupHasTheRule", kQsr, kWarm, 10, kLocal, 90},
    {"TheBaseIsTheFloor", kQsr, Constant(0.9), 0, kLocal, 4},
    {"TheRuleIsTheSquare", kQsr, Constant(0.25), 0, kLocal, 16},
    {"TheRuleTakesTheFloor", kQsr, Constant(0.3), 0, kLocal, 11},
    {"TheMaximumHolds", Capped(kQsr, 10), Constant(0.25), 0, kLocal, 10},
    {"TheMaximumHoldsInWarmup", Capped(kQsr, 4), kWarm, 0, kLocal, 4},
    {"ARateOfZeroIsOneRoundToTheEnd", kQsr, Constant(0), 7, kLocal, 93},
    {"ARateOfZeroMeetsTheMaximum", Capped(kQsr, 10), Constant(0), 7, kLocal, 10},
    {"ATinyRateExceedsNoInteger",
     {.policy = SyncPolicy::kPower, .alpha = 1e6, .base_steps = 4, .power = 9},
     Constant(1e-300),
     7,
     kLocal,
     93},
    {"PostLocalIsParallelFirst", kPostLocal, Constant(1), 0, kParallel, 20},
    {"PostLocalIsCutAtItsSwitch", kPostLocal, Constant(1), 20, kParallel, 10},
    {"PostLocalIsLocalThen", kPostLocal, Constant(1), 30, kLocal, 8},
    {"PostLocalIsCutAtTheEnd", kPostLocal, Constant(1), 94, kLocal, 6},
    {"SwapHasItsBaseFirst", kSwap, Constant(1), 0, kLocal, 4},
    {"SwapIsCutAtItsSwitch", kSwap, Constant(1), 28, kLocal, 2},
    {"SwapThenSyncsAtTheEndOnly", kSwap, Constant(1), 30, kLocal, 70},
    {"SwapThenMeetsTheMaximum", Capped(kSwap, 50), Constant(1), 30, kLocal, 50},
    {"TableStartsWithItsFirstRow", kTable, Constant(1), 0, kLocal, 4},
    {"TableIsCutAtTheNextRow", kTable, Constant(1), 8, kLocal, 2},
    {"TableGoesOnWithTheNextRow", kTable, Constant(1), 10, kLocal, 6},
    {"TableIsCutAtTheEnd", kTable, Constant(1), 40, kLocal, 60},
};

class DecideRoundTest : public testing::TestWithParam<Case> {};

TEST_P(DecideRoundTest, GivesModeAndLength) {
  const Case& c = GetParam();
  const RoundDecision round = DecideRound(c.policy, c.schedule, c.step);
  EXPECT_EQ(round.mode, c.mode);
  EXPECT_EQ(round.length, c.length);
  EXPECT_GE(round.repeats, 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, DecideRoundTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(PowerRuleTest, AWholeNumberThatRoundingMadeSmallerCountsAsWhole) {
  const double rate = 0.8 * 0.1 * 0.1;
  ASSERT_LT((0.2 / rate) * (0.2 / rate), 625.0);
  EXPECT_EQ(PowerRuleLength(0.2, rate, 2, 1, 1000), 625);
}

TEST(PowerRuleTest, AValueClearlyBelowAWholeNumberIsNotLifted) {
  EXPECT_EQ(PowerRuleLength(0.2, 0.008 * (1 + 1e-13), 2, 1, 1000), 624);
}

TEST(PowerRuleTest, TheInverseAndTheCubicRule) {
  EXPECT_EQ(PowerRuleLength(1, 0.24, 1, 1, 1000), 4);
  EXPECT_EQ(PowerRuleLength(1, 0.24, 3, 1, 1000), 72);
}

TEST(DecideRoundTest, NoRoundIsLongerThanAnOrderMayBe) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kConstant, .steps = 9'000'000, .peak = 0.1};
  const PolicyConfig swap{.policy = SyncPolicy::kSwap, .switch_step = 10};
  const RoundDecision first = DecideRound(swap, schedule, 10);
  EXPECT_EQ(first.length, kRoundStepsMax);
  EXPECT_EQ(first.repeats, 2);
  EXPECT_EQ(DecideRound(swap, schedule, 10 + 2 * kRoundStepsMax).length, 999'990);
  const PolicyConfig limited{.policy = SyncPolicy::kSwap, .max_steps = 5'000'000};
  EXPECT_EQ(DecideRound(limited, schedule, 0).length, kRoundStepsMax);
}

}  // namespace
}  // namespace rondo
