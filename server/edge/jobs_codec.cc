#include "server/edge/jobs_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "server/edge/comm_codec.h"

namespace rondo::server {
namespace {

double UnixSeconds(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

v1::JobState Encode(JobState state) {
  switch (state) {
    case JobState::kWaiting:
      return v1::JOB_STATE_WAITING;
    case JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case JobState::kPaused:
      return v1::JOB_STATE_PAUSED;
    case JobState::kEnding:
      return v1::JOB_STATE_ENDING;
    case JobState::kDone:
      return v1::JOB_STATE_DONE;
    case JobState::kStopped:
      return v1::JOB_STATE_STOPPED;
    case JobState::kFailed:
      return v1::JOB_STATE_FAILED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::WorkerState Encode(WorkerState state) {
  switch (state) {
    case WorkerState::kPreparing:
      return v1::WORKER_STATE_PREPARING;
    case WorkerState::kCandidate:
      return v1::WORKER_STATE_CANDIDATE;
    case WorkerState::kMember:
      return v1::WORKER_STATE_MEMBER;
    case WorkerState::kAway:
      return v1::WORKER_STATE_AWAY;
    case WorkerState::kLost:
      return v1::WORKER_STATE_LOST;
    case WorkerState::kLeft:
      return v1::WORKER_STATE_LEFT;
    case WorkerState::kRefused:
      return v1::WORKER_STATE_REFUSED;
  }
  return v1::WORKER_STATE_UNSPECIFIED;
}

v1::Activity Encode(Activity activity) {
  switch (activity) {
    case Activity::kPreparing:
      return v1::ACTIVITY_PREPARING;
    case Activity::kWaiting:
      return v1::ACTIVITY_WAITING;
    case Activity::kAssembling:
      return v1::ACTIVITY_ASSEMBLING;
    case Activity::kTraining:
      return v1::ACTIVITY_TRAINING;
    case Activity::kReducing:
      return v1::ACTIVITY_REDUCING;
    case Activity::kEvaluating:
      return v1::ACTIVITY_EVALUATING;
    case Activity::kSaving:
      return v1::ACTIVITY_SAVING;
  }
  return v1::ACTIVITY_UNSPECIFIED;
}

v1::DeviceKind Encode(Device device) {
  switch (device) {
    case Device::kCpu:
      return v1::DEVICE_KIND_CPU;
    case Device::kCuda:
      return v1::DEVICE_KIND_CUDA;
  }
  return v1::DEVICE_KIND_UNSPECIFIED;
}

v1::Mode Encode(RoundMode mode) {
  switch (mode) {
    case RoundMode::kParallel:
      return v1::MODE_PARALLEL;
    case RoundMode::kLocal:
      return v1::MODE_LOCAL;
  }
  return v1::MODE_UNSPECIFIED;
}

void Encode(const EvaluationRecord& evaluation, v1::Evaluation* out) {
  out->set_round(evaluation.round.value);
  out->set_step(evaluation.step);
  out->set_loss(evaluation.loss);
  if (evaluation.accuracy) out->set_accuracy(*evaluation.accuracy);
  out->set_count(evaluation.count);
}

void EncodeCosts(const StatusView& view, v1::Status* out) {
  out->set_samples_per_second(view.samples_per_second);
  out->set_bytes_sent(view.bytes_sent);
  out->set_bytes_sent_if_parallel(view.bytes_sent_if_parallel);
  out->set_step_seconds(view.step_seconds);
  out->set_reduce_seconds(view.reduce_seconds);
  out->set_control_seconds(view.control_seconds);
  out->set_evaluate_seconds(view.evaluate_seconds);
}

void EncodeCollectiveView(const StatusView& view, v1::Status* out) {
  if (view.step < view.total_steps || view.total_steps == 0) {
    out->set_collective(EncodeCollective(view.collective.collective));
    out->set_density(view.collective.density);
  }
  out->set_collective_text(view.collective_text);
  out->set_residual_norm_squared(view.residual_norm_squared);
  out->set_residuals_undelivered(view.residuals_undelivered);
}

}  // namespace

void EncodeStatus(const CoordinatorStatus& status, const v1::Job& job, absl::Time now,
                  v1::Status* out) {
  const StatusView& view = status.view;
  out->set_job_id(job.id());
  out->set_name(job.name());
  out->set_state(status.blocked ? v1::JOB_STATE_BLOCKED : Encode(view.state));
  out->set_reason(status.blocked ? status.blocked_text : view.reason);
  out->set_term(view.term.value);
  out->set_group(view.group.value);
  out->set_round(view.open_round.value);
  out->set_committed_round(view.committed_round.value);
  out->set_step(view.step);
  out->set_live_step(std::max(view.live_step, view.step));
  out->set_steps(view.total_steps);
  out->set_syncs(view.syncs);
  if (view.step > 0) {
    out->set_percent_of_parallel(100.0 * static_cast<double>(view.syncs) /
                                 static_cast<double>(view.step));
  }
  out->set_checksum(view.checksum);
  out->set_last_loss(view.last_loss);
  out->set_learning_rate(view.learning_rate);
  out->set_next_length(view.next_length);
  if (view.started_at != absl::InfinitePast()) {
    out->set_started_at(UnixSeconds(view.started_at));
    out->set_seconds(absl::ToDoubleSeconds(now - view.started_at));
  }
  EncodeCosts(view, out);
  if (view.last_evaluation) Encode(*view.last_evaluation, out->mutable_last_evaluation());
  out->set_members(view.members.size());
  for (const std::string& name : view.members) out->add_member_names(name);
  for (const NumberedNotice& numbered : status.notices) {
    v1::Notice* notice = out->add_events();
    notice->set_number(numbered.number);
    EncodeNotice(numbered.notice, notice);
  }
  out->set_parameters(view.parameters);
  out->set_samples_dropped(view.samples_dropped);
  EncodeCollectiveView(view, out);
  if (view.checkpoint_step) out->set_checkpoint(fmt::format("step-{}", *view.checkpoint_step));
}

void EncodeNotice(const NoticeRecord& notice, v1::Notice* out) {
  out->set_at(UnixSeconds(notice.at));
  out->set_kind(notice.kind);
  out->set_text(notice.text);
  out->set_round(notice.round.value);
  out->set_worker(notice.worker);
  out->set_seconds(notice.seconds);
  out->set_residual_norm_squared(notice.residual_norm_squared);
}

void EncodeRound(const RoundRow& row, v1::Round* out) {
  const CommitRecord& commit = row.commit;
  out->set_round(commit.round.value);
  out->set_group(commit.group.value);
  out->set_mode(Encode(commit.mode));
  out->set_first_step(commit.first_step);
  out->set_length(commit.length);
  out->set_rate_first(commit.rate_first);
  out->set_mean_loss(commit.mean_loss);
  out->set_parameter_norm_squared(commit.parameter_norm_squared);
  out->set_state_hash(commit.state_hash);
  for (const std::string& member : commit.members) out->add_members(member);
  out->set_bytes_sent(commit.bytes_sent);
  out->set_reduce_seconds(commit.reduce_seconds);
  out->set_control_seconds(commit.control_seconds);
  out->set_step_seconds(commit.step_seconds);
  out->set_seconds(commit.seconds);
  out->set_samples(commit.samples);
  out->set_attempts(commit.attempts);
  out->set_committed_at(UnixSeconds(commit.at));
  out->set_residual_norm_squared(commit.residual_norm_squared);
  EncodeReductions(commit, out);
  if (row.evaluation) Encode(*row.evaluation, out->mutable_evaluation());
  out->set_undone(row.undone);
}

void EncodeWorker(const WorkerRow& row, absl::Time now, v1::Worker* out) {
  out->set_name(row.name);
  out->set_incarnation(row.incarnation.value);
  out->set_state(Encode(row.state));
  out->set_text(row.text);
  out->set_rank(row.rank);
  out->set_host(row.host);
  out->set_pid(row.pid);
  out->set_device(Encode(row.device));
  out->set_activity(Encode(row.progress.activity));
  out->set_step(row.progress.step);
  out->set_loss(row.progress.loss);
  out->set_samples_per_second(row.progress.samples_per_second);
  out->set_last_heard_seconds(absl::ToDoubleSeconds(now - row.last_heard));
}

void EncodePlan(const PlanSummary& plan, const v1::Job& job, const CollectiveConfig& collective,
                uint64_t members, uint64_t parameters, v1::Plan* out) {
  out->set_steps(static_cast<uint64_t>(plan.steps));
  out->set_rounds(static_cast<uint64_t>(plan.rounds));
  out->set_syncs(static_cast<uint64_t>(plan.syncs));
  out->set_percent_of_parallel(plan.percent_of_parallel);
  out->set_longest_round(static_cast<uint64_t>(plan.longest_round));
  out->set_checksum(plan.checksum);
  for (const LengthRun& run : plan.lengths) {
    v1::RunOfLengths* lengths = out->add_lengths();
    lengths->set_length(static_cast<uint64_t>(run.length));
    lengths->set_count(static_cast<uint64_t>(run.count));
  }
  if (members > 0 && parameters > 0) {
    const auto workers = static_cast<int64_t>(members);
    const auto elements = static_cast<int64_t>(parameters);
    out->set_bytes_per_sync(static_cast<uint64_t>(
        BytesPerSync(collective.kind, workers, elements, collective.density)));
    out->set_bytes_per_sync_dense(static_cast<uint64_t>(RingBytesPerSync(workers, elements)));
  }
  *out->mutable_job() = job;
}

}  // namespace rondo::server
