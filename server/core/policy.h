// How many steps the next round has: the Quadratic Synchronization Rule (Gu et al., ICLR 2024) and
// the policies it is compared with. Pure: evaluated once at each border, nothing is remembered.
//
// With t the round's first step, T the run's steps, w the warm-up steps, eta(t) the rate of step t:
//   parallel     round_steps steps with one sync each
//   constant     H = base_steps
//   qsr, power   t < w: base_steps; else max(base_steps, floor((alpha / eta(t))^p)); qsr is p = 2
//   post_local   parallel until switch_step, then base_steps          (Lin et al., ICLR 2020)
//   swap         base_steps until switch_step, then one round to T     (Gupta et al., ICLR 2020)
//   table        the length of the last row whose from_step <= t
// Always: H <= max_steps if that is set (not for parallel rounds), a round ends where the policy
// switches (switch_step, a row of the table) and at T; 1 <= H <= kRoundStepsMax. A round that
// straddles the end of warm-up keeps the H it started with.
//
// The floor is taken of x (1 + 4 * 2^-52), so that values which are whole numbers but for rounding
// (alpha 0.2, eta 0.8 * 0.1^2: 624.9999999999998) count as whole. A rate of 0 gives the longest
// round.
#ifndef RONDO_SERVER_CORE_POLICY_H_
#define RONDO_SERVER_CORE_POLICY_H_

#include <cstdint>
#include <vector>

#include "server/core/schedule.h"

namespace rondo {

// parallel: gradients are reduced in every step. local: parameters are reduced once, at the end.
enum class RoundMode { kParallel, kLocal };

enum class SyncPolicy { kParallel, kConstant, kPower, kPostLocal, kSwap, kTable };

// An order brings each step's rate in 8 bytes: two such orders fit in a stream's send queue
// (StreamLimits in server/edge/attend_stream.h).
inline constexpr int64_t kRoundStepsMax = 4'000'000;

struct LengthFrom {
  int64_t from_step = 0;
  int64_t length = 1;
};

// qsr is kPower with power 2. The job file's reader has checked all of it.
struct PolicyConfig {
  SyncPolicy policy = SyncPolicy::kParallel;
  double alpha = 0;
  int64_t base_steps = 1;
  double power = 2;
  int64_t max_steps = 0;  // 0: none but kRoundStepsMax.
  int64_t switch_step = 0;
  std::vector<LengthFrom> table = {};  // Ascending, the first from step 0.
  int64_t round_steps = 50;
};

struct RoundDecision {
  RoundMode mode = RoundMode::kLocal;
  // Steps of the round that starts here; >= 1.
  int64_t length = 1;
  // So many rounds in a row, this one included, are known to have this mode and length; >= 1.
  int64_t repeats = 1;
};

// The round that starts at `step`, in [0, T).
RoundDecision DecideRound(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step);

// floor((alpha / rate)^power) by the rule above, at least `floor` and at most `ceiling`; rate >= 0.
int64_t PowerRuleLength(double alpha, double rate, double power, int64_t floor, int64_t ceiling);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_POLICY_H_
