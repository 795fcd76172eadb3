#include "server/runtime/machine_config.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "server/runtime/job_config.h"

namespace rondo::server {
namespace {

uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

// Jobs that were frozen by an older version lack the newer keys: the default stays.
void SetSeconds(double given, absl::Duration* limit) {
  if (given > 0) *limit = absl::Seconds(given);
}

DisciplinePolicy DisciplineFromJob(const v1::Workers& workers) {
  DisciplinePolicy policy;
  if (workers.has_cool_down_seconds()) {
    policy.cool_down = absl::Seconds(workers.cool_down_seconds());
  }
  if (workers.has_losses_free()) policy.losses_free = Unsigned(workers.losses_free());
  SetSeconds(workers.cool_down_max_seconds(), &policy.cool_down_max);
  SetSeconds(workers.forgive_seconds(), &policy.forgive);
  return policy;
}

MachineLimits LimitsFromJob(const v1::Job& job) {
  MachineLimits limits;
  const v1::Limits& given = job.limits();
  limits.heartbeat = absl::Seconds(given.heartbeat_seconds());
  limits.silent = absl::Seconds(given.silent_seconds());
  limits.lost = absl::Seconds(given.lost_seconds());
  limits.return_wait = absl::Seconds(job.workers().return_seconds());
  limits.assemble = absl::Seconds(given.assemble_seconds());
  limits.collective_min = absl::Seconds(given.collective_seconds());
  SetSeconds(given.abort_seconds(), &limits.abort);
  SetSeconds(given.report_seconds(), &limits.report);
  SetSeconds(given.evaluate_seconds(), &limits.evaluate);
  SetSeconds(given.save_seconds(), &limits.save);
  limits.stall = absl::Seconds(given.stall_seconds());
  limits.rewind_after = absl::Seconds(job.workers().rewind_after_seconds());
  limits.give_up = absl::Seconds(job.workers().give_up_seconds());
  limits.attempts_max = static_cast<uint32_t>(given.attempts());
  if (given.not_finite_rounds() > 0) {
    limits.not_finite_max = static_cast<uint32_t>(given.not_finite_rounds());
  }
  limits.discipline = DisciplineFromJob(job.workers());
  return limits;
}

}  // namespace

absl::StatusOr<MachineConfig> MachineConfigFromJob(const v1::Job& job, Term term,
                                                   std::array<uint64_t, 2> token_seed) {
  if (job.id().empty()) return absl::InvalidArgumentError("the job is not frozen: it has no id");
  MachineConfig config;
  config.job_id = job.id();
  config.term = term;
  ASSIGN_OR_RETURN(config.schedule, ScheduleFromJob(job));
  ASSIGN_OR_RETURN(config.policy, PolicyFromJob(job));
  config.epochs = Unsigned(job.schedule().epochs());
  config.batch_global = Unsigned(job.batch().global());
  config.batch_per_worker = Unsigned(job.batch().per_worker());
  config.shuffle = job.data().shuffle();
  ASSIGN_OR_RETURN(config.collective, CollectiveFromJob(job));
  config.workers_min = Unsigned(job.workers().min());
  config.workers_max = Unsigned(job.workers().max());
  config.wait = absl::Seconds(job.workers().wait_seconds());
  config.evaluate_every_epochs = Unsigned(job.evaluate().every_epochs());
  config.evaluate_every_steps = Unsigned(job.evaluate().every_steps());
  config.has_test_set = job.data().has_test();
  config.has_accuracy = job.loss() != v1::LOSS_MSE;
  config.checkpoint_every_steps = Unsigned(job.checkpoint().every_steps());
  config.partials = job.checkpoint().partials();
  config.checkpoint_keep = Unsigned(job.checkpoint().keep());
  config.token_seed = token_seed;
  config.limits = LimitsFromJob(job);
  return config;
}

}  // namespace rondo::server
