#include "worker/runtime/order_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "kernels/norm.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/local_reduce.h"
#include "worker/runtime/mean_step.h"
#include "worker/runtime/sparse_totals.h"

namespace rondo::worker {
namespace {

std::vector<rondo::SampleRun> SamplerRuns(const Order& order) {
  std::vector<rondo::SampleRun> runs;
  for (const SampleRun& run : order.runs) {
    runs.push_back({.epoch = static_cast<int64_t>(run.epoch),
                    .first_position = static_cast<int64_t>(run.first),
                    .count = static_cast<int64_t>(run.count),
                    .stride = static_cast<int64_t>(run.stride),
                    .steps = static_cast<int64_t>(run.steps),
                    .advance = static_cast<int64_t>(run.advance),
                    .same_steps = run.same_steps});
  }
  return runs;
}

float GradientFactor(const Order& order, const LoopParts& parts) {
  if (order.mode == Mode::kLocal || parts.group == nullptr) return 1;
  return ContributionFactor(order.weight, order.weight_sum, parts.group->size());
}

}  // namespace

OrderLoop::OrderLoop(const Order& order, const LoopParts& parts)
    : order_(order),
      parts_(parts),
      factor_(GradientFactor(order, parts)),
      sampler_(
          Sampler::Create(SamplerRuns(order), static_cast<int64_t>(order.length), parts.epochs)) {
  ready_.group = order.group;
  ready_.round = order.round;
}

Failed OrderLoop::Fail(uint64_t step, const absl::Status& status) const {
  Failed failed;
  failed.group = order_.group;
  failed.round = order_.round;
  failed.step = step;
  failed.has_result = parts_.gradients->last_step() == static_cast<int64_t>(step);
  failed.cause = CauseOf(status);
  failed.text = std::string(status.message());
  failed.finite = ready_.finite;
  failed.loss_sum = ready_.loss_sum;
  return failed;
}

std::variant<Ready, Failed, Dropped> OrderLoop::Run() {
  const bool parallel = order_.mode == Mode::kParallel;
  if (!sampler_.ok())
    return Fail(order_.first_step, absl::InternalError(sampler_.status().message()));
  if (parallel && parts_.group == nullptr) {
    return Fail(order_.first_step, absl::AbortedError("the group was left"));
  }
  const absl::Time began = parts_.clock->Now();
  parts_.gauges->BeginOrder(order_.round, order_.first_step);
  parts_.gauges->Begin(Activity::kTraining, began);
  std::optional<CostMeter> meter;
  if (parallel) meter.emplace(*parts_.group, parts_.clock);
  parts_.gradients->Forget();
  if (const absl::Status begun = parts_.state->feedback().BeginOrder(order_); !begun.ok()) {
    return Fail(order_.first_step, begun);
  }
  uint64_t first = 0;
  if (parts_.resume != nullptr) {
    const absl::Status resumed = Resume(*parts_.resume, &first);
    if (!resumed.ok()) return Fail(order_.first_step, resumed);
  }
  for (uint64_t i = first; i < order_.length; ++i) {
    if (parts_.dropped()) return Dropped{};
    if (const absl::Status done = Step(i); !done.ok()) return Fail(order_.first_step + i, done);
    SavePartialIfDue(order_.first_step + i + 1);
  }
  if (parallel && order_.length > 0) ReportCosts(*meter);
  const absl::Status finished = parallel ? FinishParallel() : FinishLocal();
  if (!finished.ok()) return Fail(order_.first_step + order_.length, finished);
  ready_.steps = order_.length;
  ready_.reduced.reduce_seconds = absl::ToDoubleSeconds(reduce_time_);
  ready_.step_seconds = absl::ToDoubleSeconds(parts_.clock->Now() - began - reduce_time_);
  return std::move(ready_);
}

// Of the steps of a parallel round.
void OrderLoop::ReportCosts(const CostMeter& meter) {
  ErrorFeedback& feedback = parts_.state->feedback();
  if (feedback.sparse()) {
    const SparseTotals totals = feedback.TakeTotals();
    ready_.reduced.costs = totals.Costs();
    ready_.reduced.sparse = totals.stats();
    return;
  }
  PhaseCost cost = meter.Read(CostPhase::kReduce, order_.length);
  cost.seconds = absl::ToDoubleSeconds(reduce_time_);
  ready_.reduced.costs.push_back(cost);
}

absl::Status OrderLoop::Resume(const Partial& partial, uint64_t* index) {
  const bool fits = partial.first_step == order_.first_step && order_.mode == Mode::kLocal &&
                    partial.next_step > order_.first_step &&
                    partial.next_step < order_.first_step + order_.length;
  if (!fits) {
    return absl::InternalError(
        fmt::format("the partial of step {} is not of round {}, steps {} to {}", partial.next_step,
                    order_.round, order_.first_step, order_.first_step + order_.length));
  }
  *index = partial.next_step - order_.first_step;
  ready_.samples = partial.samples;
  ready_.loss_sum = partial.loss_sum;
  ready_.finite = partial.finite;
  return absl::OkStatus();
}

void OrderLoop::SavePartialIfDue(uint64_t next_step) {
  if (!PartialDue(order_, next_step, parts_.partial_every)) return;
  parts_.gauges->Begin(Activity::kSaving, parts_.clock->Now());  // No loop that stands still.
  parts_.save_partial({.round = order_.round,
                       .first_step = order_.first_step,
                       .next_step = next_step,
                       .samples = ready_.samples,
                       .loss_sum = ready_.loss_sum,
                       .finite = ready_.finite});
  parts_.gauges->Begin(Activity::kTraining, parts_.clock->Now());
}

absl::Status OrderLoop::Step(uint64_t index) {
  const uint64_t step = order_.first_step + index;
  const double rate = order_.rates[index];
  StepSamples samples = sampler_->Samples(static_cast<int64_t>(index));
  Engine& engine = parts_.state->engine();
  GradientResult result;
  bool has_samples = !samples.samples.empty();
  if (has_samples) {
    parts_.train->Load(samples.samples, &batch_);
    batch_.positions = std::move(samples.positions);
    if (order_.mode == Mode::kParallel) parts_.state->KeepBuffers();
    ASSIGN_OR_RETURN(result, engine.ComputeGradient(batch_, static_cast<int64_t>(step)));
    // Also of a step that fails here: a repair may finish it with what the others have.
    ready_.finite = ready_.finite && result.finite;
  }
  if (order_.mode == Mode::kParallel) {
    RETURN_IF_ERROR(ReduceAndStep(step, rate, has_samples && result.finite));
    parts_.state->DoneStep();
  } else if (has_samples) {
    RETURN_IF_ERROR(parts_.state->optimizer().Step(engine.parameters(), engine.gradients(), rate,
                                                   engine.has_gradient()));
  }
  if (has_samples) {
    ready_.samples += static_cast<uint64_t>(result.samples);
    ready_.loss_sum += result.loss;
  }
  parts_.gauges->Step(step + 1, result.loss, static_cast<uint64_t>(result.samples),
                      parts_.clock->Now());
  return absl::OkStatus();
}

absl::Status OrderLoop::ReduceAndStep(uint64_t step, double rate, bool finite) {
  Engine& engine = parts_.state->engine();
  const CallId call{.round = static_cast<int64_t>(order_.round.value),
                    .attempt_or_step = static_cast<int64_t>(step),
                    .phase = rondo::Phase::kGradients};
  const absl::Time began = parts_.clock->Now();
  // Who waits for a peer does not stand still: the collective has a limit of its own.
  parts_.gauges->Begin(Activity::kReducing, began);
  const absl::Status reduced = parts_.gradients
                                   ->Reduce(call,
                                            {.values = engine.gradients(),
                                             .has_gradient = engine.has_gradient(),
                                             .factor = finite ? factor_ : 0.0f},
                                            parts_.collective_limit, parts_.group)
                                   .status();
  const absl::Time ended = parts_.clock->Now();
  parts_.gauges->Begin(Activity::kTraining, ended);
  RETURN_IF_ERROR(reduced);
  reduce_time_ += ended - began;
  return StepWithMean(rate, parts_.gradients, parts_.state);
}

absl::Status OrderLoop::FinishLocal() {
  Engine& engine = parts_.state->engine();
  ASSIGN_OR_RETURN(const bool parameters, IsFinite(engine.parameters()));
  ASSIGN_OR_RETURN(const bool buffers, IsFinite(engine.float_buffers()));
  ready_.finite = ready_.finite && parameters && buffers;
  return absl::OkStatus();
}

absl::Status OrderLoop::StageBuffers() {
  Engine& engine = parts_.state->engine();
  const std::span<int64_t> integers = engine.integer_buffers();
  std::copy(integers.begin(), integers.end(), parts_.state->staged_integers().begin());
  if (engine.float_buffers().size == 0 && integers.empty()) return absl::OkStatus();
  const CallId call{.round = static_cast<int64_t>(order_.round.value),
                    .attempt_or_step = static_cast<int64_t>(order_.first_step + order_.length),
                    .phase = rondo::Phase::kBuffers};
  parts_.gauges->Begin(Activity::kReducing, parts_.clock->Now());
  CostMeter meter(*parts_.group, parts_.clock);
  if (engine.float_buffers().size > 0) {
    ASSIGN_OR_RETURN(const bool finite, IsFinite(engine.float_buffers()));
    ASSIGN_OR_RETURN(const DeviceSpan<float> mean,
                     parts_.buffers->Reduce(call,
                                            {.values = engine.float_buffers(),
                                             .has_gradient = {},
                                             .factor = finite ? factor_ : 0.0f},
                                            parts_.collective_limit, parts_.group));
    std::copy(mean.data, mean.data + mean.size, parts_.state->staged_buffers().data);
  }
  RETURN_IF_ERROR(ShareIntegers(call, 0, parts_.collective_limit, parts_.group,
                                parts_.state->staged_integers()));
  ready_.reduced.costs.push_back(meter.Read(CostPhase::kBuffers, 1));
  reduce_time_ += absl::Seconds(ready_.reduced.costs.back().seconds);
  return absl::OkStatus();
}

absl::Status OrderLoop::FinishParallel() {
  RETURN_IF_ERROR(StageBuffers());
  ASSIGN_OR_RETURN(ready_.reduced.state_hash, parts_.state->HashAfterSteps());
  ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(parts_.state->engine().parameters()));
  ready_.reduced.parameter_norm_squared = norm.squared;
  ASSIGN_OR_RETURN(ready_.reduced.residual_norm_squared, parts_.state->feedback().NormSquared());
  ready_.finite = ready_.finite && norm.finite;
  return absl::OkStatus();
}

}  // namespace rondo::worker
