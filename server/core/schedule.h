// The learning rate as a pure function of the step.
//
// With t the step, T the steps of the run, w the warm-up steps and e the final rate:
//   t < w         e + t (peak - e) / w; a warm-up longer than the run is legal and fills it
//   constant      peak
//   cosine        e + (peak - e) (1 + cos(pi x)) / 2,  x = (t - w) / (T - w)
//   linear        e + (peak - e) (1 - x)
//   step          peak * gamma^i, i = number of drop steps <= t
//   cosine_step   the cosine value, rounded to the nearest power of rounding_base in log scale
//   wsd           peak, then over the last d = decay_steps the linear or cosine decay from peak to
//   e,
//                 x = (t - (T - d)) / d
// Source: Gu, Lyu, Arora, Zhang, Huang, "A Quadratic Synchronization Rule for Distributed Deep
// Learning", ICLR 2024, section 4 and appendices; wsd: Hu et al., "MiniCPM", 2024.
#ifndef RONDO_SERVER_CORE_SCHEDULE_H_
#define RONDO_SERVER_CORE_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace rondo {

enum class ScheduleKind { kConstant, kCosine, kLinear, kStep, kCosineStep, kWsd };
enum class DecayShape { kLinear, kCosine };

// The job file's reader has checked all of it: rates finite and >= 0, counts in range.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kConstant;
  int64_t steps = 0;  // T, > 0.
  double peak = 0;
  double final = 0;
  int64_t warmup_steps = 0;
  double gamma = 1;                      // step.
  std::vector<int64_t> drop_steps = {};  // step; strictly ascending.
  double rounding_base = 2;              // cosine_step; > 1.
  int64_t decay_steps = 0;               // wsd; in [1, T].
  DecayShape decay = DecayShape::kLinear;
};

// The rate of step `step`, in [0, T). The same bits for the same arguments, whatever was asked
// before.
double RateAt(const ScheduleConfig& schedule, int64_t step);

// The first step after `step` at which the rate may be another one; at most T. A lower bound: what
// lies between has exactly the rate of `step`.
int64_t RateSameUntil(const ScheduleConfig& schedule, int64_t step);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_SCHEDULE_H_
