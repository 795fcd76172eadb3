#include "server/core/plan.h"

#include <cmath>

namespace rondo {

void RoundChecksum::Add(int64_t length, int64_t count) {
  // The sum of s + 1 .. s + count; the even factor is halved first, so that products may wrap.
  const auto s = static_cast<uint64_t>(rounds_);
  const auto n = static_cast<uint64_t>(count);
  const uint64_t pairs = n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
  value_ += static_cast<uint32_t>((s * n + pairs) * static_cast<uint64_t>(length));
  rounds_ += count;
}

void VisitRounds(const PolicyConfig& policy, const ScheduleConfig& schedule,
                 absl::FunctionRef<void(const RoundRun&)> visit) {
  int64_t step = 0;
  while (step < schedule.steps) {
    const RoundDecision round = DecideRound(policy, schedule, step);
    visit({step, round.mode, round.length, round.repeats});
    step += round.length * round.repeats;
  }
}

PlanSummary ComputePlan(const PolicyConfig& policy, const ScheduleConfig& schedule) {
  PlanSummary plan;
  RoundChecksum checksum;
  VisitRounds(policy, schedule, [&](const RoundRun& run) {
    checksum.Add(run.length, run.count);
    plan.syncs += run.mode == RoundMode::kParallel ? run.length * run.count : run.count;
    if (run.length > plan.longest_round) {
      plan.longest_round = run.length;
      plan.longest_first_step = run.first_step;
    }
    if (!plan.lengths.empty() && plan.lengths.back().length == run.length) {
      plan.lengths.back().count += run.count;
    } else {
      plan.lengths.push_back({run.length, run.count});
    }
  });
  plan.steps = schedule.steps;
  plan.rounds = checksum.rounds();
  plan.checksum = checksum.value();
  if (plan.steps > 0) {
    plan.percent_of_parallel =
        100.0 * static_cast<double>(plan.syncs) / static_cast<double>(plan.steps);
  }
  return plan;
}

int64_t CountPartials(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t every) {
  int64_t partials = 0;
  VisitRounds(policy, schedule, [&](const RoundRun& run) {
    if (run.mode != RoundMode::kLocal || run.length <= every) return;
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t first = run.first_step + i * run.length;
      partials += (first + run.length - 1) / every - first / every;
    }
  });
  return partials;
}

int64_t RingBytesPerSync(int64_t workers, int64_t parameters) {
  if (workers < 2) return 0;
  const auto p = static_cast<double>(workers);
  return std::llround(2 * (p - 1) / p * 4 * static_cast<double>(parameters));
}

int64_t SparseBytesPerSync(int64_t workers, int64_t entries) {
  if (workers < 2) return 0;
  const auto p = static_cast<double>(workers);
  return std::llround(4 * (p - 1) / p * 4 * static_cast<double>(entries));
}

int64_t SparseBytesMost(int64_t workers, int64_t entries) {
  return workers < 2 ? 0 : 6 * 4 * entries;
}

int64_t GatherBytesPerSync(int64_t workers, int64_t entries) {
  return workers < 2 ? 0 : 2 * 4 * entries * (workers - 1);
}

double PredictSeconds(int64_t steps, int64_t syncs, double step_seconds, double sync_seconds) {
  return static_cast<double>(steps) * step_seconds + static_cast<double>(syncs) * sync_seconds;
}

}  // namespace rondo
