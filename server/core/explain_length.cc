#include "server/core/explain_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace rondo {
namespace {

// What the policy asks for, before max_steps and the cuts.
struct Wish {
  double steps = 1;
  LengthReason reason = LengthReason::kBaseSteps;
  std::string text;
  int64_t cut_at = 0;  // Where the policy switches, or T.
};

Wish PowerWish(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step) {
  const auto base = static_cast<double>(policy.base_steps);
  if (step < schedule.warmup_steps) {
    return {base, LengthReason::kWarmup,
            fmt::format("base_steps = {}: the rate warms up until step {}", policy.base_steps,
                        schedule.warmup_steps),
            schedule.steps};
  }
  const double rate = RateAt(schedule, step);
  if (rate == 0) {
    return {std::numeric_limits<double>::infinity(), LengthReason::kRule,
            "the rate is 0, the rule knows no limit", schedule.steps};
  }
  const double value = std::pow(policy.alpha / rate, policy.power);
  std::string rule = fmt::format("the rule (alpha / rate)^{:g} = ({:g} / {:.6g})^{:g} gives {:.6g}",
                                 policy.power, policy.alpha, rate, policy.power, value);
  const int64_t length = PowerRuleLength(policy.alpha, rate, policy.power, 0, schedule.steps);
  if (length < policy.base_steps) {
    rule += fmt::format(", less than base_steps = {}", policy.base_steps);
    return {value, LengthReason::kFloor, std::move(rule), schedule.steps};
  }
  return {value, LengthReason::kRule, std::move(rule), schedule.steps};
}

Wish TableWish(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step) {
  const auto next =
      std::upper_bound(policy.table.begin(), policy.table.end(), step,
                       [](int64_t value, const LengthFrom& row) { return value < row.from_step; });
  const LengthFrom& row = *std::prev(next);
  const int64_t until =
      next == policy.table.end() ? schedule.steps : std::min(next->from_step, schedule.steps);
  return {static_cast<double>(row.length), LengthReason::kTable,
          fmt::format("the table has {} from step {} on", row.length, row.from_step), until};
}

Wish WishAt(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step) {
  const int64_t end = schedule.steps;
  const bool before_switch = step < policy.switch_step;
  const int64_t switch_at = before_switch ? std::min(policy.switch_step, end) : end;
  const Wish parallel = {static_cast<double>(policy.round_steps), LengthReason::kRoundSteps,
                         fmt::format("round_steps = {}", policy.round_steps), end};
  const Wish constant = {static_cast<double>(policy.base_steps), LengthReason::kBaseSteps,
                         fmt::format("base_steps = {}", policy.base_steps), end};
  switch (policy.policy) {
    case SyncPolicy::kParallel:
      return parallel;
    case SyncPolicy::kConstant:
      return constant;
    case SyncPolicy::kPower:
      return PowerWish(policy, schedule, step);
    case SyncPolicy::kPostLocal:
      if (!before_switch) return constant;
      return {parallel.steps, parallel.reason, parallel.text, switch_at};
    case SyncPolicy::kSwap:
      if (before_switch) return {constant.steps, constant.reason, constant.text, switch_at};
      return {static_cast<double>(end - step), LengthReason::kUntilEnd,
              fmt::format("the policy has one round from step {} to the end", policy.switch_step),
              end};
    case SyncPolicy::kTable:
      return TableWish(policy, schedule, step);
  }
  return parallel;
}

// What cut the wish down to `length`, if anything did.
void ExplainCut(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step,
                const Wish& wish, LengthExplanation& why) {
  const bool capped = policy.max_steps > 0 && why.mode == RoundMode::kLocal;
  const int64_t most = capped ? std::min(policy.max_steps, kRoundStepsMax) : kRoundStepsMax;
  const auto length = static_cast<double>(why.length);
  const double asked = std::floor(wish.steps * (1 + 4 * std::numeric_limits<double>::epsilon()));
  if (length >= std::max(asked, static_cast<double>(
                                    wish.reason == LengthReason::kFloor ? policy.base_steps : 1))) {
    return;
  }
  if (why.length == most && step + why.length < wish.cut_at) {
    why.reason = most == policy.max_steps ? LengthReason::kCap : LengthReason::kLongest;
    why.text += most == policy.max_steps
                    ? fmt::format("; max_steps = {} caps it", policy.max_steps)
                    : fmt::format("; no round has more than {} steps", kRoundStepsMax);
  } else if (wish.cut_at < schedule.steps) {
    why.reason = LengthReason::kSwitch;
    why.text +=
        fmt::format("; the round is cut at step {}, where the policy switches", wish.cut_at);
  } else {
    why.reason = LengthReason::kEnd;
    why.text += fmt::format("; only {} of {} steps {} left", schedule.steps - step, schedule.steps,
                            schedule.steps - step == 1 ? "is" : "are");
  }
}

}  // namespace

std::string_view NameOf(LengthReason reason) {
  switch (reason) {
    case LengthReason::kRoundSteps:
      return "round_steps";
    case LengthReason::kBaseSteps:
      return "base_steps";
    case LengthReason::kWarmup:
      return "warmup";
    case LengthReason::kRule:
      return "rule";
    case LengthReason::kFloor:
      return "floor";
    case LengthReason::kTable:
      return "table";
    case LengthReason::kUntilEnd:
      return "until_end";
    case LengthReason::kCap:
      return "cap";
    case LengthReason::kLongest:
      return "longest";
    case LengthReason::kSwitch:
      return "switch";
    case LengthReason::kEnd:
      return "end";
  }
  return "unknown";
}

LengthExplanation ExplainLength(const PolicyConfig& policy, const ScheduleConfig& schedule,
                                int64_t step) {
  const RoundDecision decision = DecideRound(policy, schedule, step);
  const Wish wish = WishAt(policy, schedule, step);
  LengthExplanation why;
  why.mode = decision.mode;
  why.length = decision.length;
  why.rate = RateAt(schedule, step);
  why.wanted = wish.steps;
  why.reason = wish.reason;
  why.text = wish.text;
  ExplainCut(policy, schedule, step, wish, why);
  return why;
}

}  // namespace rondo
