// Which samples a member takes in each step of an order. Pure.
#ifndef RONDO_WORKER_CORE_SAMPLER_H_
#define RONDO_WORKER_CORE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/permutation.h"

namespace rondo {

// A regular piece of a member's samples. In its step s (0 <= s < steps) it gives the positions
//     first_position + s*advance + i*stride,   i = 0..count-1,
// of `epoch`'s order. The runs of an order are a list: each run begins at the step where the run
// before it ended, except that one with `same_steps` begins at the step where the run before it
// began, and so adds samples to the same steps (its `steps` may be fewer, not more). Example: rank
// k of P with b samples a step, from cursor c: {epoch, c + k, b, P, steps, P*b}.
struct SampleRun {
  int64_t epoch = 0;
  int64_t first_position = 0;
  int64_t count = 0;    // >= 0; with 0 its steps have no samples of this run
  int64_t stride = 1;   // >= 1
  int64_t steps = 0;    // >= 1
  int64_t advance = 0;  // >= 0
  bool same_steps = false;
};

// One step's samples, in the order of the runs and of `i`. Entry n of each vector is sample n.
struct StepSamples {
  std::vector<int64_t> samples;    // indices into the data set
  std::vector<int64_t> positions;  // in the epoch's order: seeds of randomness
  std::vector<int64_t> epochs;
};

// Checks the runs of an order of `steps` steps over `size` samples: they must cover exactly that
// many steps, and each position must lie in [0, size). InvalidArgument names the run and the value.
absl::Status CheckSampleRuns(std::span<const SampleRun> runs, int64_t steps, int64_t size);

// A member's samples of one order. Threads: one. Borrows `orders`.
class Sampler {
 public:
  // InvalidArgument as CheckSampleRuns.
  static absl::StatusOr<Sampler> Create(std::vector<SampleRun> runs, int64_t steps,
                                        EpochOrders* orders);

  // `step` in [0, steps) counts from the order's first step. Any order of calls; ascending is
  // cheap.
  StepSamples Samples(int64_t step) const;
  // Samples over all steps.
  int64_t total() const { return total_; }

 private:
  Sampler(std::vector<SampleRun> runs, EpochOrders* orders);

  std::vector<SampleRun> runs_;
  std::vector<int64_t> begins_;  // The first step of each run.
  int64_t total_ = 0;
  EpochOrders* orders_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_CORE_SAMPLER_H_
