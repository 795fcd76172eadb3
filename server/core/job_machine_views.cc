// What users see of the machine.
#include <fmt/format.h>

#include <algorithm>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

JobState JobMachine::Impl::StateInWords() const {
  switch (phase_) {
    case Phase::kBorder:
      return resting_ && !Finishing() ? JobState::kPaused : JobState::kWaiting;
    case Phase::kAssembling:
    case Phase::kTraining:
    case Phase::kReducing:
      return JobState::kRunning;
    case Phase::kEvaluating:
    case Phase::kSaving:
    case Phase::kCompleting:
      return Finishing() ? JobState::kEnding : JobState::kRunning;
    case Phase::kOver:
      break;
  }
  switch (end_state_) {
    case EndState::kDone:
      return JobState::kDone;
    case EndState::kStopped:
      return JobState::kStopped;
    case EndState::kFailed:
      return JobState::kFailed;
  }
  return JobState::kFailed;
}

// As the slowest member's heartbeat tells.
uint64_t JobMachine::Impl::LiveStep() const {
  if (!round_) return committed_.step;
  uint64_t slowest = round_->first_step + round_->length;
  for (const RoundMember& member : round_->members) {
    const Worker* worker = roster_.Find(member.name);
    if (worker == nullptr || member.ready || !worker->present()) continue;
    const bool on_it = worker->progress.round == round_->id;
    slowest = std::min(slowest, on_it ? worker->progress.step : round_->first_step);
  }
  return std::max(committed_.step, slowest);
}

StatusView JobMachine::Impl::status(absl::Time now) const {
  StatusView view;
  view.term = config_.term;
  view.state = StateInWords();
  if (phase_ == Phase::kOver) {
    view.reason = end_reason_;
  } else if (!waits_for_.empty()) {
    const auto seconds = absl::ToInt64Seconds(now - phase_since_);
    view.reason = fmt::format("{} (for {} s)", waits_for_, seconds);
  } else if (history_.pause && round_) {
    view.reason = fmt::format("a user asked for a pause {}", WhenRoundEnds());
  }
  view.group = group_ ? group_->id : GroupId{};
  view.open_round = round_ ? round_->id : RoundId{};
  view.committed_round = committed_.round;
  view.step = committed_.step;
  view.live_step = LiveStep();
  view.total_steps = static_cast<uint64_t>(config_.schedule.steps);
  view.syncs = committed_.syncs;
  view.checksum = committed_.checksum.value();
  view.last_loss = history_.totals.last_loss;
  view.started_at = history_.totals.started_at;
  const CollectiveDecision open{round_ ? round_->collective : Collective::kRing,
                                round_ ? round_->density : 0};
  view.collective = round_ ? open
                           : DecideCollective(config_.collective, history_.trials,
                                              group_ ? group_->members.size() : config_.workers_min,
                                              committed_.step);
  view.collective_text = TellChoice(config_.collective, history_.trials);
  for (const auto& [name, norm] : committed_.residuals) view.residual_norm_squared += norm;
  view.residuals_undelivered =
      committed_.residuals_lost + (phase_ == Phase::kOver ? committed_.residuals.size() : 0);
  if (view.step < view.total_steps) {
    const auto step = static_cast<int64_t>(committed_.step);
    view.learning_rate = RateAt(config_.schedule, step);
    view.next_length =
        static_cast<uint64_t>(DecideRound(config_.policy, config_.schedule, step).length);
  }
  for (const auto& [name, worker] : roster_.workers()) {
    if (!IsMember(worker) || !worker.present()) continue;
    view.members.push_back(name);
    if (round_) view.samples_per_second += worker.progress.samples_per_second;
  }
  view.bytes_sent = history_.totals.bytes_sent;
  view.bytes_sent_if_parallel = history_.totals.bytes_if_parallel;
  view.step_seconds = history_.totals.step_seconds;
  view.reduce_seconds = history_.totals.reduce_seconds;
  view.control_seconds = history_.totals.control_seconds;
  view.evaluate_seconds = history_.totals.evaluate_seconds;
  view.last_evaluation = history_.totals.last_evaluation;
  view.parameters = reference_ ? reference_->parameters : 0;
  view.samples_dropped = committed_.ledger.samples_dropped;
  view.checkpoint_step = history_.totals.checkpoint_step;
  return view;
}

std::vector<WorkerRow> JobMachine::Impl::workers() const {
  std::vector<WorkerRow> rows;
  const Group* group = assembly_ ? &assembly_->group : group_ ? &*group_ : nullptr;
  for (const auto& [name, worker] : roster_.workers()) {
    WorkerRow row;
    row.name = name;
    row.incarnation = worker.incarnation;
    row.text = worker.text;
    if (worker.gone() && discipline_.Losses(name, now_) > 0) {
      row.text += fmt::format("; losses under this name: {}", discipline_.Losses(name, now_));
    }
    if (worker.gone() && worker.cools_down_until > now_) {
      row.text += fmt::format("; a new process waits {:.0f} s",
                              absl::ToDoubleSeconds(worker.cools_down_until - now_));
    }
    row.host = worker.host;
    row.pid = worker.pid;
    row.device = worker.device;
    row.progress = worker.progress;
    row.last_heard = worker.heard;
    if (group != nullptr && !worker.gone()) {
      const auto rank = group->RankOf(name, worker.incarnation);
      if (rank) row.rank = static_cast<int>(*rank);
    }
    switch (worker.standing) {
      case Standing::kPreparing:
      case Standing::kPrepared:
        row.state = !worker.stream      ? WorkerState::kAway
                    : row.rank >= 0     ? WorkerState::kMember
                    : worker.prepared() ? WorkerState::kCandidate
                                        : WorkerState::kPreparing;
        break;
      case Standing::kLost:
        row.state = WorkerState::kLost;
        break;
      case Standing::kLeft:
        row.state = WorkerState::kLeft;
        break;
      case Standing::kRefused:
        row.state = WorkerState::kRefused;
        break;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rondo::server
