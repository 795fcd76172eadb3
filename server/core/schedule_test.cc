#include "server/core/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace rondo {
namespace {

struct Case {
  std::string name;
  ScheduleConfig schedule;
  int64_t step;
  double rate;
};

const Case kCases[] = {
    {"WarmupStartsAtTheFinalRate",
     {.kind = ScheduleKind::kCosine, .steps = 100, .peak = 1, .final = 0.01, .warmup_steps = 10},
     0,
     0.01},
    {"WarmupIsLinear",
     {.kind = ScheduleKind::kConstant, .steps = 100, .peak = 1, .final = 0, .warmup_steps = 10},
     5,
     0.5},
    {"PeakFollowsWarmup",
     {.kind = ScheduleKind::kCosine, .steps = 100, .peak = 1, .final = 0.01, .warmup_steps = 10},
     10,
     1},
    {"WarmupLongerThanTheRunFillsIt",
     {.kind = ScheduleKind::kLinear, .steps = 10, .peak = 1, .final = 0, .warmup_steps = 40},
     9,
     0.225},
    {"WarmupAsLongAsTheRunFillsIt",
     {.kind = ScheduleKind::kCosine, .steps = 10, .peak = 1, .final = 0, .warmup_steps = 10},
     9,
     0.9},
    {"CosineIsHalfWayInTheMiddle",
     {.kind = ScheduleKind::kCosine, .steps = 100, .peak = 1, .final = 0},
     50,
     0.5},
    {"LinearIsAQuarterDownAtAQuarter",
     {.kind = ScheduleKind::kLinear, .steps = 100, .peak = 1, .final = 0.2},
     25,
     0.8},
    {"ConstantStays", {.kind = ScheduleKind::kConstant, .steps = 100, .peak = 0.3}, 99, 0.3},
    {"StepBeforeItsDrop",
     {.kind = ScheduleKind::kStep, .steps = 100, .peak = 1, .gamma = 0.5, .drop_steps = {10, 20}},
     9,
     1},
    {"StepAtItsDrop",
     {.kind = ScheduleKind::kStep, .steps = 100, .peak = 1, .gamma = 0.5, .drop_steps = {10, 20}},
     10,
     0.5},
    {"StepAfterItsLastDrop",
     {.kind = ScheduleKind::kStep, .steps = 100, .peak = 1, .gamma = 0.5, .drop_steps = {10, 20}},
     99,
     0.25},
    {"CosineStepRoundsInLogScale",  // cosine: 0.5 + 0.5 cos(0.3 pi) = 0.794; log2 = -0.333.
     {.kind = ScheduleKind::kCosineStep, .steps = 100, .peak = 1, .final = 0, .rounding_base = 2},
     30,
     1},
    {"CosineStepRoundsDownBelowTheMiddle",  // 0.5 + 0.5 cos(0.4 pi) = 0.654; log2 = -0.61.
     {.kind = ScheduleKind::kCosineStep, .steps = 100, .peak = 1, .final = 0, .rounding_base = 2},
     40,
     0.5},
    {"CosineStepRoundsToOtherBases",  // 0.0955 is 10^-1.02.
     {.kind = ScheduleKind::kCosineStep, .steps = 100, .peak = 1, .final = 0, .rounding_base = 10},
     80,
     0.1},
    {"WsdHoldsThePeak",
     {.kind = ScheduleKind::kWsd, .steps = 100, .peak = 1, .final = 0, .decay_steps = 20},
     79,
     1},
    {"WsdDecaysLinearly",
     {.kind = ScheduleKind::kWsd, .steps = 100, .peak = 1, .final = 0, .decay_steps = 20},
     85,
     0.75},
    {"WsdDecaysAsACosine",
     {.kind = ScheduleKind::kWsd,
      .steps = 100,
      .peak = 1,
      .final = 0,
      .decay_steps = 20,
      .decay = DecayShape::kCosine},
     90,
     0.5},
};

class RateTest : public testing::TestWithParam<Case> {};

TEST_P(RateTest, FollowsTheFormula) {
  EXPECT_DOUBLE_EQ(RateAt(GetParam().schedule, GetParam().step), GetParam().rate);
}

INSTANTIATE_TEST_SUITE_P(Rates, RateTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(ScheduleTest, RatesAreFiniteAndNeverNegative) {
  for (const Case& c : kCases) {
    for (int64_t t = 0; t < c.schedule.steps; ++t) {
      const double rate = RateAt(c.schedule, t);
      EXPECT_TRUE(std::isfinite(rate) && rate >= 0) << c.name << " step " << t << ": " << rate;
    }
  }
}

TEST(ScheduleTest, TheRateIsTheSameUntilTheStepThatRateSameUntilNames) {
  for (const Case& c : kCases) {
    for (int64_t t = 0; t < c.schedule.steps; ++t) {
      const int64_t until = RateSameUntil(c.schedule, t);
      ASSERT_GT(until, t) << c.name;
      ASSERT_LE(until, c.schedule.steps) << c.name;
      for (int64_t u = t; u < until; ++u) {
        ASSERT_EQ(RateAt(c.schedule, u), RateAt(c.schedule, t)) << c.name << ' ' << t << ' ' << u;
      }
    }
  }
}

TEST(ScheduleTest, ACosineStepRateOfZeroStaysZero) {
  // So close to the end that 1 + cos(pi x) is 0 in double.
  const ScheduleConfig schedule = {.kind = ScheduleKind::kCosineStep,
                                   .steps = 1'000'000'000,
                                   .peak = 1,
                                   .final = 0,
                                   .rounding_base = 2};
  EXPECT_EQ(RateAt(schedule, schedule.steps - 1), 0);
}

}  // namespace
}  // namespace rondo
