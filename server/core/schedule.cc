#include "server/core/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rondo {
namespace {

// The number of drops that have happened at `step`.
int64_t Drops(const ScheduleConfig& schedule, int64_t step) {
  const auto& drops = schedule.drop_steps;
  return std::upper_bound(drops.begin(), drops.end(), step) - drops.begin();
}

// From peak at `done` = 0 of `length` steps down to the final rate at `done` = length.
double Cosine(const ScheduleConfig& s, int64_t done, int64_t length) {
  const double angle = std::numbers::pi * static_cast<double>(done) / static_cast<double>(length);
  return s.final + (s.peak - s.final) * (1 + std::cos(angle)) / 2;
}

double Linear(const ScheduleConfig& s, int64_t done, int64_t length) {
  return s.final +
         (s.peak - s.final) * (1 - static_cast<double>(done) / static_cast<double>(length));
}

double RoundToPower(double value, double base) {
  if (value <= 0) return 0;
  return std::pow(base, std::round(std::log2(value) / std::log2(base)));
}

double WsdRate(const ScheduleConfig& s, int64_t step) {
  const int64_t done = step - (s.steps - s.decay_steps);
  if (done < 0) return s.peak;
  switch (s.decay) {
    case DecayShape::kLinear:
      return Linear(s, done, s.decay_steps);
    case DecayShape::kCosine:
      return Cosine(s, done, s.decay_steps);
  }
  return s.peak;
}

}  // namespace

double RateAt(const ScheduleConfig& s, int64_t step) {
  const int64_t w = s.warmup_steps;
  if (step < w) {
    return s.final + static_cast<double>(step) * (s.peak - s.final) / static_cast<double>(w);
  }
  switch (s.kind) {
    case ScheduleKind::kConstant:
      return s.peak;
    case ScheduleKind::kCosine:
      return Cosine(s, step - w, s.steps - w);
    case ScheduleKind::kLinear:
      return Linear(s, step - w, s.steps - w);
    case ScheduleKind::kStep:
      return s.peak * std::pow(s.gamma, static_cast<double>(Drops(s, step)));
    case ScheduleKind::kCosineStep:
      return RoundToPower(Cosine(s, step - w, s.steps - w), s.rounding_base);
    case ScheduleKind::kWsd:
      return WsdRate(s, step);
  }
  return s.peak;
}

int64_t RateSameUntil(const ScheduleConfig& s, int64_t step) {
  if (step < s.warmup_steps) return step + 1;
  switch (s.kind) {
    case ScheduleKind::kConstant:
      return s.steps;
    case ScheduleKind::kStep: {
      const auto next = static_cast<size_t>(Drops(s, step));
      return next < s.drop_steps.size() ? std::min(s.drop_steps[next], s.steps) : s.steps;
    }
    case ScheduleKind::kWsd:
      return std::max(step + 1, s.steps - s.decay_steps);
    case ScheduleKind::kCosine:
    case ScheduleKind::kLinear:
    case ScheduleKind::kCosineStep:
      return step + 1;
  }
  return step + 1;
}

}  // namespace rondo
