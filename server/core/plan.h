// The whole sequence of rounds of a run, before it runs: counts, lengths, checksum, cost.
#ifndef RONDO_SERVER_CORE_PLAN_H_
#define RONDO_SERVER_CORE_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo {

// The sum over rounds s = 1, 2, ... of s * length(s), modulo 2^32: two runs with the same checksum
// had the same rounds. Over a running job: the committed rounds that were not undone.
class RoundChecksum {
 public:
  RoundChecksum() = default;
  // Goes on after `rounds` rounds with the given value.
  RoundChecksum(int64_t rounds, uint32_t value) : rounds_(rounds), value_(value) {}

  // `count` rounds of `length` steps each; both >= 1.
  void Add(int64_t length, int64_t count = 1);

  int64_t rounds() const { return rounds_; }
  uint32_t value() const { return value_; }

 private:
  int64_t rounds_ = 0;
  uint32_t value_ = 0;
};

// `count` consecutive rounds of one mode and length.
struct RoundRun {
  int64_t first_step = 0;
  RoundMode mode = RoundMode::kLocal;
  int64_t length = 1;
  int64_t count = 1;
};

// Calls `visit` for the rounds of the run in order; two consecutive calls may have the same mode
// and length. Cost: one rate for each visit; what is known to repeat is visited once.
void VisitRounds(const PolicyConfig& policy, const ScheduleConfig& schedule,
                 absl::FunctionRef<void(const RoundRun&)> visit);

struct LengthRun {
  int64_t length = 1;
  int64_t count = 1;
  bool operator==(const LengthRun&) const = default;
};

struct PlanSummary {
  int64_t steps = 0;
  int64_t rounds = 0;
  // One a local round, one a step of a parallel round.
  int64_t syncs = 0;
  double percent_of_parallel = 0;  // 100 syncs / steps.
  int64_t longest_round = 0;       // Steps.
  int64_t longest_first_step = 0;  // Of the first round of that length.
  uint32_t checksum = 0;
  // The lengths of all rounds in order; neighbours differ in length.
  std::vector<LengthRun> lengths = {};
};

// Cost: at most one rate a round; 10^8 steps of parallel or constant rounds take no time.
PlanSummary ComputePlan(const PolicyConfig& policy, const ScheduleConfig& schedule);

// How often each member saves a partial: at each multiple of `every` steps (> 0) inside a local
// round that is longer than that. Cost: one division a round.
int64_t CountPartials(const PolicyConfig& policy, const ScheduleConfig& schedule, int64_t every);

// What a member of a ring of `workers` sends in one sync of `parameters` float32 values, on average
// over the members: 2 (P - 1) / P * 4 n, rounded to whole bytes.
int64_t RingBytesPerSync(int64_t workers, int64_t parameters);

// What a member sends in one sync of the sparse all-reduce of `entries` (k), of 8 bytes each: where
// members are alike 4 k (P - 1) / P words of 4 bytes, and never more than 6 k (the bound),
// rounded to whole bytes. Sizes, cuts and thresholds come on top.
int64_t SparseBytesPerSync(int64_t workers, int64_t entries);
int64_t SparseBytesMost(int64_t workers, int64_t entries);
// The same by all-gather of everybody's top k: 2 k (P - 1) words.
int64_t GatherBytesPerSync(int64_t workers, int64_t entries);

// steps * step_seconds + syncs * sync_seconds (the model of the QSR paper's section on wall time).
double PredictSeconds(int64_t steps, int64_t syncs, double step_seconds, double sync_seconds);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_PLAN_H_
