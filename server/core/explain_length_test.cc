#include "server/core/explain_length.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace rondo {
namespace {

ScheduleConfig Cosine() {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::kCosine;
  schedule.steps = 1000;
  schedule.peak = 0.1;
  schedule.final = 1e-6;
  schedule.warmup_steps = 50;
  return schedule;
}

PolicyConfig Policy(SyncPolicy kind) {
  PolicyConfig policy;
  policy.policy = kind;
  policy.alpha = 0.02;
  policy.base_steps = 2;
  policy.switch_step = 105;
  policy.table = {{0, 5}, {12, 100}};
  policy.round_steps = 50;
  return policy;
}

struct Case {
  std::string name;
  SyncPolicy policy;
  int64_t step;
  int64_t max_steps;
  LengthReason reason;
  int64_t length;
};

class ExplainLengthTest : public testing::TestWithParam<Case> {};

TEST_P(ExplainLengthTest, NamesWhatDecidedTheLength) {
  PolicyConfig policy = Policy(GetParam().policy);
  policy.max_steps = GetParam().max_steps;
  const LengthExplanation why = ExplainLength(policy, Cosine(), GetParam().step);
  EXPECT_EQ(why.reason, GetParam().reason) << why.text;
  EXPECT_EQ(why.length, GetParam().length) << why.text;
  EXPECT_FALSE(why.text.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ExplainLengthTest,
    testing::Values(
        Case{"Parallel", SyncPolicy::kParallel, 100, 10, LengthReason::kRoundSteps, 50},
        Case{"ParallelAtTheEnd", SyncPolicy::kParallel, 970, 0, LengthReason::kEnd, 30},
        Case{"Constant", SyncPolicy::kConstant, 100, 0, LengthReason::kBaseSteps, 2},
        Case{"ConstantAtTheEnd", SyncPolicy::kConstant, 999, 0, LengthReason::kEnd, 1},
        Case{"WarmUp", SyncPolicy::kPower, 49, 0, LengthReason::kWarmup, 2},
        Case{"Floor", SyncPolicy::kPower, 50, 0, LengthReason::kFloor, 2},
        Case{"Rule", SyncPolicy::kPower, 800, 0, LengthReason::kRule, 3},
        Case{"Cap", SyncPolicy::kPower, 900, 10, LengthReason::kCap, 10},
        Case{"RuleAtTheEnd", SyncPolicy::kPower, 980, 0, LengthReason::kEnd, 20},
        Case{"PostLocalBefore", SyncPolicy::kPostLocal, 0, 0, LengthReason::kRoundSteps, 50},
        Case{"PostLocalCut", SyncPolicy::kPostLocal, 100, 0, LengthReason::kSwitch, 5},
        Case{"PostLocalAfter", SyncPolicy::kPostLocal, 105, 0, LengthReason::kBaseSteps, 2},
        Case{"SwapBefore", SyncPolicy::kSwap, 0, 0, LengthReason::kBaseSteps, 2},
        Case{"SwapCut", SyncPolicy::kSwap, 104, 0, LengthReason::kSwitch, 1},
        Case{"SwapAfter", SyncPolicy::kSwap, 105, 0, LengthReason::kUntilEnd, 895},
        Case{"SwapCapped", SyncPolicy::kSwap, 105, 100, LengthReason::kCap, 100},
        Case{"Table", SyncPolicy::kTable, 0, 0, LengthReason::kTable, 5},
        Case{"TableCut", SyncPolicy::kTable, 10, 0, LengthReason::kSwitch, 2},
        Case{"TableAtTheEnd", SyncPolicy::kTable, 912, 0, LengthReason::kEnd, 88}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(ExplainLengthPropertyTest, HasThePolicysLengthAtEveryStep) {
  for (const SyncPolicy kind : {SyncPolicy::kParallel, SyncPolicy::kConstant, SyncPolicy::kPower,
                                SyncPolicy::kPostLocal, SyncPolicy::kSwap, SyncPolicy::kTable}) {
    for (const int64_t most : {0, 10}) {
      PolicyConfig policy = Policy(kind);
      policy.max_steps = most;
      for (int64_t step = 0; step < 1000; ++step) {
        const LengthExplanation why = ExplainLength(policy, Cosine(), step);
        EXPECT_EQ(why.length, DecideRound(policy, Cosine(), step).length);
        EXPECT_EQ(why.rate, RateAt(Cosine(), step));
      }
    }
  }
}

TEST(ExplainLengthPropertyTest, ARateOfZeroHasNoLimitButTheEnd) {
  ScheduleConfig schedule = Cosine();
  schedule.kind = ScheduleKind::kConstant;
  schedule.peak = 0;
  const LengthExplanation why = ExplainLength(Policy(SyncPolicy::kPower), schedule, 100);
  EXPECT_TRUE(std::isinf(why.wanted));
  EXPECT_EQ(why.reason, LengthReason::kEnd);
  EXPECT_EQ(why.length, 900);
}

}  // namespace
}  // namespace rondo
