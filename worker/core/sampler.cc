#include "worker/core/sampler.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/core/permutation.h"

namespace rondo {
namespace {

absl::Status Bad(size_t index, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("sample run {}: {}", index, what));
}

// The greatest position of a run, in 128 bits: its fields come from the network.
__int128 LastPosition(const SampleRun& run) {
  return static_cast<__int128>(run.steps - 1) * run.advance +
         static_cast<__int128>(run.count - 1) * run.stride + run.first_position;
}

absl::Status CheckRun(const SampleRun& run, size_t index, int64_t size) {
  if (run.epoch < 0) return Bad(index, fmt::format("epoch {} is negative", run.epoch));
  if (run.steps < 1) return Bad(index, fmt::format("steps is {}, at least 1 is needed", run.steps));
  if (run.count < 0) return Bad(index, fmt::format("count {} is negative", run.count));
  if (run.stride < 1)
    return Bad(index, fmt::format("stride is {}, at least 1 is needed", run.stride));
  if (run.advance < 0) return Bad(index, fmt::format("advance {} is negative", run.advance));
  if (run.first_position < 0)
    return Bad(index, fmt::format("first position {} is negative", run.first_position));
  if (run.count > 0 && LastPosition(run) >= size)
    return Bad(index,
               fmt::format("it reaches past the last position: the epoch has {} samples", size));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSampleRuns(std::span<const SampleRun> runs, int64_t steps, int64_t size) {
  int64_t covered = 0;
  int64_t last_steps = 0;  // Of the last run without same_steps.
  for (size_t i = 0; i < runs.size(); ++i) {
    RETURN_IF_ERROR(CheckRun(runs[i], i, size));
    if (runs[i].same_steps) {
      if (runs[i].steps > last_steps)
        return Bad(i, fmt::format("it adds to {} steps, but the run before it has {}",
                                  runs[i].steps, last_steps));
      continue;
    }
    if (runs[i].steps > steps - covered)
      return Bad(i, fmt::format("the runs cover more than the order's {} steps", steps));
    last_steps = runs[i].steps;
    covered += last_steps;
  }
  if (covered != steps)
    return absl::InvalidArgumentError(
        fmt::format("the sample runs cover {} steps, but the order has {}", covered, steps));
  return absl::OkStatus();
}

absl::StatusOr<Sampler> Sampler::Create(std::vector<SampleRun> runs, int64_t steps,
                                        EpochOrders* orders) {
  RETURN_IF_ERROR(CheckSampleRuns(runs, steps, orders->size()));
  return Sampler(std::move(runs), orders);
}

Sampler::Sampler(std::vector<SampleRun> runs, EpochOrders* orders)
    : runs_(std::move(runs)), orders_(orders) {
  int64_t begin = 0;
  int64_t end = 0;
  for (const SampleRun& run : runs_) {
    if (!run.same_steps) {
      begin = end;
      end += run.steps;
    }
    begins_.push_back(begin);
    total_ += run.count * run.steps;
  }
}

StepSamples Sampler::Samples(int64_t step) const {
  StepSamples result;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const SampleRun& run = runs_[r];
    const int64_t s = step - begins_[r];
    if (s < 0 || s >= run.steps) continue;
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t position = run.first_position + s * run.advance + i * run.stride;
      result.samples.push_back(orders_->Sample(run.epoch, position));
      result.positions.push_back(position);
      result.epochs.push_back(run.epoch);
    }
  }
  return result;
}

}  // namespace rondo
