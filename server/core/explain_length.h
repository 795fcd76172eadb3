// Why a round has the length that it has, in words and as a reason that programs can read: the
// decision of policy.h told step by step. Pure.
#ifndef RONDO_SERVER_CORE_EXPLAIN_LENGTH_H_
#define RONDO_SERVER_CORE_EXPLAIN_LENGTH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo {

// What decided the length: the last thing that changed it.
enum class LengthReason {
  kRoundSteps,  // Parallel mode: sync.round_steps.
  kBaseSteps,   // The policy is a constant H.
  kWarmup,      // The rule's floor, because the rate is still warming up.
  kRule,        // (alpha / rate)^power.
  kFloor,       // The rule gives less than base_steps.
  kTable,       // A row of the table.
  kUntilEnd,    // swap after its switch: one round to the end.
  kCap,         // sync.max_steps.
  kLongest,     // No round is longer than kRoundStepsMax.
  kSwitch,      // Cut where the policy switches.
  kEnd,         // Cut at the run's last step.
};

// snake_case, for JSON.
std::string_view NameOf(LengthReason reason);

struct LengthExplanation {
  RoundMode mode = RoundMode::kLocal;
  int64_t length = 1;  // Steps.
  double rate = 0;     // Of the round's first step.
  // Steps that the policy alone asks for, before caps and cuts; may be infinite (a rate of 0) or
  // below 1 (the rule's value).
  double wanted = 1;
  LengthReason reason = LengthReason::kBaseSteps;
  std::string text;  // A sentence without a full stop.
};

// Of the round that starts at `step`, in [0, T); its length is DecideRound's.
LengthExplanation ExplainLength(const PolicyConfig& policy, const ScheduleConfig& schedule,
                                int64_t step);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_EXPLAIN_LENGTH_H_
