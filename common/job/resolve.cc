#include "common/job/resolve.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/job/limits.h"

namespace rondo {
namespace {

void Fail(ParsedJob* parsed, const std::string& key, std::string message) {
  const auto found = parsed->positions.find(key);
  parsed->errors.push_back(
      {found == parsed->positions.end() ? Position{} : found->second, key, std::move(message)});
}

int64_t GlobalBatch(const v1::Job& job) {
  if (job.batch().size_case() == v1::Batch::kGlobal) return job.batch().global();
  const bool fixed = job.workers().min() == job.workers().max();
  return fixed ? job.batch().per_worker() * job.workers().min() : 0;
}

const char* BatchKey(const v1::Job& job) {
  return job.batch().size_case() == v1::Batch::kGlobal ? "batch.global" : "batch.per_worker";
}

// epochs -> steps; an error, once, when the data is not known or the product is out of range.
int64_t StepsOfEpochs(ParsedJob* parsed, const std::string& key, int64_t epochs) {
  const int64_t steps_per_epoch = parsed->job.resolved().steps_per_epoch();
  if (steps_per_epoch == 0) {
    Fail(parsed, key,
         "counting in epochs needs the size of the data: name the folder of the data with --files, "
         "or count in steps");
    return 0;
  }
  if (epochs > kJobStepsMax / steps_per_epoch) {
    Fail(parsed, key,
         fmt::format("{} epochs of {} steps are more than {} steps", epochs, steps_per_epoch,
                     kJobStepsMax));
    return 0;
  }
  return epochs * steps_per_epoch;
}

void ResolveSteps(ParsedJob* parsed) {
  const v1::Schedule& schedule = parsed->job.schedule();
  v1::Resolved* resolved = parsed->job.mutable_resolved();
  if (schedule.length_case() == v1::Schedule::kSteps) {
    resolved->set_steps(schedule.steps());
  } else {
    resolved->set_steps(StepsOfEpochs(parsed, "schedule.epochs", schedule.epochs()));
  }
  for (int64_t step : schedule.at_steps()) resolved->add_drop_steps(step);
  for (int64_t epoch : schedule.at_epochs()) {
    const int64_t step = StepsOfEpochs(parsed, "schedule.at_epochs", epoch);
    if (step == 0) break;
    resolved->add_drop_steps(step);
  }
  if (parsed->job.evaluate().every_epochs() > 0 && resolved->steps_per_epoch() == 0) {
    StepsOfEpochs(parsed, "evaluate.every_epochs", 1);
  }
  if (resolved->steps() > 0 && schedule.decay_steps() > resolved->steps()) {
    Fail(parsed, "schedule.decay_steps",
         fmt::format("must be at most the run's {} steps", resolved->steps()));
  }
}

// A density that never comes down to its value is not what was meant by it.
void CheckDensityWarmUp(ParsedJob* parsed) {
  const int64_t warmup = parsed->job.collective().warmup_steps();
  const int64_t steps = parsed->job.resolved().steps();
  if (steps == 0 || warmup < steps) return;
  const auto found = parsed->positions.find("collective.warmup_steps");
  parsed->warnings.push_back(
      {found == parsed->positions.end() ? Position{} : found->second, "collective.warmup_steps",
       fmt::format("the run has {} steps and ends before the density has come down to {}", steps,
                   parsed->job.collective().density())});
}

void CheckInputs(ParsedJob* parsed, const DataSize& train) {
  int64_t width = 1;
  for (int64_t d : train.shape) width *= d;
  const v1::Model& model = parsed->job.model();
  if (!model.has_mlp() || model.mlp().layers(0) == width) return;
  Fail(parsed, "model.layers",
       fmt::format("the first width is {} but a sample of {} has {} values", model.mlp().layers(0),
                   parsed->job.data().train().inputs(), width));
}

}  // namespace

void ResolveJob(const DataSizes& sizes, ParsedJob* parsed) {
  v1::Job& job = parsed->job;
  v1::Resolved* resolved = job.mutable_resolved();
  resolved->Clear();
  resolved->set_train_samples(sizes.train.samples);
  resolved->set_test_samples(sizes.test.samples);
  for (int64_t d : sizes.train.shape) resolved->add_sample_shape(d);
  const int64_t batch = GlobalBatch(job);
  resolved->set_global_batch(batch);
  if (sizes.train.samples > 0) {
    const int64_t least = batch > 0 ? batch : job.batch().per_worker() * job.workers().min();
    if (least > sizes.train.samples) {
      Fail(parsed, BatchKey(job),
           fmt::format("a step of {} samples needs more than the {} samples of {}", least,
                       sizes.train.samples, job.data().train().inputs()));
      return;
    }
    if (batch > 0) resolved->set_steps_per_epoch(sizes.train.samples / batch);
    CheckInputs(parsed, sizes.train);
  }
  ResolveSteps(parsed);
  CheckDensityWarmUp(parsed);
}

}  // namespace rondo
