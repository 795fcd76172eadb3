#include "server/runtime/job_config.h"

#include <fmt/format.h>

#include <string_view>

#include "common/status_macros.h"

namespace rondo {
namespace {

absl::Status Unknown(std::string_view key, int value) {
  return absl::InvalidArgumentError(fmt::format(
      "the job's {} has the value {}, which this version does not know: use the version that froze "
      "the job",
      key, value));
}

absl::StatusOr<ScheduleKind> KindFromJob(const v1::Schedule& schedule) {
  switch (schedule.kind()) {
    case v1::SCHEDULE_KIND_CONSTANT:
      return ScheduleKind::kConstant;
    case v1::SCHEDULE_KIND_COSINE:
      return ScheduleKind::kCosine;
    case v1::SCHEDULE_KIND_LINEAR:
      return ScheduleKind::kLinear;
    case v1::SCHEDULE_KIND_STEP:
      return ScheduleKind::kStep;
    case v1::SCHEDULE_KIND_COSINE_STEP:
      return ScheduleKind::kCosineStep;
    case v1::SCHEDULE_KIND_WSD:
      return ScheduleKind::kWsd;
    default:  // Open enum: unspecified, or from a newer version.
      return Unknown("schedule.kind", schedule.kind());
  }
}

absl::StatusOr<DecayShape> DecayFromJob(const v1::Schedule& schedule) {
  switch (schedule.decay()) {
    case v1::DECAY_SHAPE_LINEAR:
      return DecayShape::kLinear;
    case v1::DECAY_SHAPE_COSINE:
      return DecayShape::kCosine;
    default:
      return Unknown("schedule.decay", schedule.decay());
  }
}

absl::StatusOr<SyncPolicy> KindFromJob(const v1::Sync& sync) {
  switch (sync.policy()) {
    case v1::SYNC_POLICY_PARALLEL:
      return SyncPolicy::kParallel;
    case v1::SYNC_POLICY_CONSTANT:
      return SyncPolicy::kConstant;
    case v1::SYNC_POLICY_QSR:
    case v1::SYNC_POLICY_POWER:
      return SyncPolicy::kPower;
    case v1::SYNC_POLICY_POST_LOCAL:
      return SyncPolicy::kPostLocal;
    case v1::SYNC_POLICY_SWAP:
      return SyncPolicy::kSwap;
    case v1::SYNC_POLICY_TABLE:
      return SyncPolicy::kTable;
    default:
      return Unknown("sync.policy", sync.policy());
  }
}

absl::StatusOr<server::Collective> KindFromJob(const v1::Collective& collective) {
  switch (collective.kind()) {
    case v1::COLLECTIVE_KIND_RING:
      return server::Collective::kRing;
    case v1::COLLECTIVE_KIND_SPARSE:
      return server::Collective::kSparse;
    case v1::COLLECTIVE_KIND_AUTO:
      return server::Collective::kAuto;
    case v1::COLLECTIVE_KIND_TOPK_GATHER:
      return server::Collective::kTopkGather;
    default:
      return Unknown("collective.kind", collective.kind());
  }
}

}  // namespace

absl::StatusOr<ScheduleConfig> ScheduleFromJob(const v1::Job& job) {
  const v1::Schedule& schedule = job.schedule();
  if (job.resolved().steps() <= 0) {
    return absl::InvalidArgumentError(
        "the job's number of steps is not known yet: resolve it before it is planned or frozen");
  }
  ScheduleConfig config;
  ASSIGN_OR_RETURN(config.kind, KindFromJob(schedule));
  config.steps = job.resolved().steps();
  config.peak = schedule.peak();
  config.final = schedule.final();
  config.warmup_steps = schedule.warmup_steps();
  config.gamma = schedule.gamma();
  config.drop_steps.assign(job.resolved().drop_steps().begin(), job.resolved().drop_steps().end());
  config.rounding_base = schedule.rounding_base();
  config.decay_steps = schedule.decay_steps();
  if (config.kind == ScheduleKind::kWsd) {
    ASSIGN_OR_RETURN(config.decay, DecayFromJob(schedule));
  }
  return config;
}

absl::StatusOr<PolicyConfig> PolicyFromJob(const v1::Job& job) {
  const v1::Sync& sync = job.sync();
  PolicyConfig config;
  ASSIGN_OR_RETURN(config.policy, KindFromJob(sync));
  config.alpha = sync.alpha();
  config.base_steps = sync.base_steps();
  config.power = sync.policy() == v1::SYNC_POLICY_QSR ? 2 : sync.power();
  config.max_steps = sync.max_steps();
  config.switch_step = sync.switch_step();
  config.table.clear();
  for (const v1::TableRow& row : sync.table()) {
    config.table.push_back({row.from_step(), row.length()});
  }
  if (config.policy == SyncPolicy::kTable &&
      (config.table.empty() || config.table.front().from_step != 0)) {
    return absl::InvalidArgumentError("the job's sync.table does not start at step 0");
  }
  config.round_steps = sync.round_steps();
  return config;
}

absl::StatusOr<server::CollectiveConfig> CollectiveFromJob(const v1::Job& job) {
  const v1::Collective& collective = job.collective();
  server::CollectiveConfig config;
  ASSIGN_OR_RETURN(config.kind, KindFromJob(collective));
  config.density = collective.density();
  config.warmup_steps = static_cast<uint64_t>(collective.warmup_steps());
  config.warmup_density = collective.warmup_density();
  return config;
}

}  // namespace rondo
