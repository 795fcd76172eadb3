#include "server/core/policy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace rondo {
namespace {

constexpr double kAlmostWhole = 1 + 4 * std::numeric_limits<double>::epsilon();

// What holds from a step on, before a round is cut to fit.
struct Piece {
  RoundMode mode;
  int64_t length;
  int64_t same_until;  // Rounds that start before it have this mode and length.
  int64_t cut_at;      // No round goes beyond.
};

Piece PowerPiece(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step) {
  const int64_t end = schedule.steps;
  if (step < schedule.warmup_steps) {
    return {RoundMode::kLocal, policy.base_steps, std::min(schedule.warmup_steps, end), end};
  }
  const int64_t length =
      PowerRuleLength(policy.alpha, RateAt(schedule, step), policy.power, policy.base_steps, end);
  return {RoundMode::kLocal, length, RateSameUntil(schedule, step), end};
}

Piece TablePiece(const PolicyConfig& policy, int64_t step, int64_t end) {
  const auto next =
      std::upper_bound(policy.table.begin(), policy.table.end(), step,
                       [](int64_t value, const LengthFrom& row) { return value < row.from_step; });
  const int64_t until = next == policy.table.end() ? end : std::min(next->from_step, end);
  return {RoundMode::kLocal, std::prev(next)->length, until, until};
}

Piece PieceAt(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t step) {
  const int64_t end = schedule.steps;
  const bool before_switch = step < policy.switch_step;
  const int64_t switch_at = std::min(policy.switch_step, end);
  const Piece parallel = {RoundMode::kParallel, policy.round_steps, end, end};
  const Piece constant = {RoundMode::kLocal, policy.base_steps, end, end};
  switch (policy.policy) {
    case SyncPolicy::kParallel:
      return parallel;
    case SyncPolicy::kConstant:
      return constant;
    case SyncPolicy::kPower:
      return PowerPiece(policy, schedule, step);
    case SyncPolicy::kPostLocal:
      if (!before_switch) return constant;
      return {parallel.mode, parallel.length, switch_at, switch_at};
    case SyncPolicy::kSwap:
      if (!before_switch) return {RoundMode::kLocal, end - step, end, end};
      return {constant.mode, constant.length, switch_at, switch_at};
    case SyncPolicy::kTable:
      return TablePiece(policy, step, end);
  }
  return parallel;
}

}  // namespace

int64_t PowerRuleLength(double alpha, double rate, double power, int64_t floor, int64_t ceiling) {
  if (floor >= ceiling || rate == 0) return ceiling;
  const double ratio = alpha / rate;
  const double value = power == 2 ? ratio * ratio : std::pow(ratio, power);
  // Compared in double, before any cast: the value may exceed every integer.
  const double whole = std::floor(value * kAlmostWhole);
  if (whole >= static_cast<double>(ceiling)) return ceiling;
  return std::max(floor, static_cast<int64_t>(whole));
}

RoundDecision DecideRound(const PolicyConfig& policy, const ScheduleConfig& schedule,
                          int64_t step) {
  const Piece piece = PieceAt(policy, schedule, step);
  const bool capped = policy.max_steps > 0 && piece.mode == RoundMode::kLocal;
  const int64_t most = capped ? std::min(policy.max_steps, kRoundStepsMax) : kRoundStepsMax;
  const int64_t whole = std::min(piece.length, most);
  const int64_t length = std::clamp<int64_t>(whole, 1, piece.cut_at - step);
  const int64_t starts = (piece.same_until - step + length - 1) / length;
  const int64_t fit = (piece.cut_at - step) / length;
  return {piece.mode, length, std::max<int64_t>(1, std::min(starts, fit))};
}

}  // namespace rondo
