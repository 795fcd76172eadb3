// Who is away: streams that break, workers that fall silent, come back or are lost;
// and who leaves.
#include <fmt/format.h>

#include <algorithm>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

void JobMachine::Impl::On(const StreamClosed& event) {
  pending_.erase(event.stream);
  Worker* worker = roster_.FindByStream(event.stream);
  if (worker == nullptr) return;
  worker->stream = {};
  worker->broke = now_;
  worker->fell_silent = false;
  if (phase_ == Phase::kOver || !worker->prepared()) return;
  Note("worker_away",
       fmt::format("{}: its connection broke{}", worker->name,
                   event.why.empty() ? "" : fmt::format(" ({})", event.why)),
       worker->name);
}

void JobMachine::Impl::DropStream(Worker& worker, const std::string& why) {
  Close(worker.stream, why);
  worker.stream = {};
  worker.broke = now_;
  worker.fell_silent = true;
}

void JobMachine::Impl::Lose(Worker& worker, const std::string& why) {
  if (worker.stream) Close(worker.stream, why);
  worker.stream = {};
  worker.standing = Standing::kLost;
  worker.gone_since = now_;
  worker.text = why;
  discipline_.NoteLoss(worker.name, now_);
  Note("worker_lost", fmt::format("{}: {}", worker.name, why), worker.name);
}

void JobMachine::Impl::NoteReturn(const Worker& worker) {
  const bool first = worker.dial == 0;  // Of this incarnation, as far as this term knows.
  if (worker.standing != Standing::kLost && (worker.stream || first || !worker.prepared())) return;
  const double seconds = first ? 0 : absl::ToDoubleSeconds(now_ - worker.broke);
  Note("worker_returned",
       first ? fmt::format("{} is back", worker.name)
             : fmt::format("{} is back after {:.1f} s", worker.name, seconds),
       worker.name, seconds);
}

// A coordinator that was stopped or starved has heard nobody: its own sleep is nobody's silence.
void JobMachine::Impl::ForgiveOwnSleep() {
  const absl::Duration late = now_ - wanted_wake_;
  if (late < config_.limits.heartbeat || phase_ == Phase::kOver) return;
  for (auto& [stream, until] : pending_) until += late;
  for (auto& [name, worker] : roster_.workers()) {
    if (worker.gone()) continue;
    worker.heard = std::min(now_, worker.heard + late + 2 * config_.limits.heartbeat);
    if (!worker.stream) worker.broke += late;
  }
  Note("coordinator_slept", fmt::format("the coordinator itself stood still for {}",
                                        absl::FormatDuration(absl::Trunc(late, absl::Seconds(1)))));
}

// Limits of streams: Hello must come, heartbeats must come, an absent worker must come back.
void JobMachine::Impl::CheckStreams() {
  const MachineLimits& limits = config_.limits;
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto [stream, until] = *it++;
    if (now_ >= until) {
      Close(stream, "no Hello in time");
    } else {
      WakeAt(until);
    }
  }
  for (auto& [name, worker] : roster_.workers()) {
    if (worker.gone()) continue;
    CheckLeaver(worker);
    if (worker.gone()) continue;
    if (worker.stream && now_ >= worker.heard + limits.silent) {
      Note("worker_silent",
           fmt::format("{} has sent nothing for {}", name, absl::FormatDuration(limits.silent)),
           name, absl::ToDoubleSeconds(now_ - worker.heard));
      DropStream(worker, "silent for too long");
    }
    const absl::Time lost_at = (worker.fell_silent ? worker.heard : worker.broke) + limits.lost;
    if (worker.stream) {
      WakeAt(worker.heard + limits.silent);
    } else if (now_ >= lost_at) {
      Lose(worker, fmt::format("away for {}", absl::FormatDuration(limits.lost)));
    } else {
      WakeAt(lost_at);
    }
  }
  roster_.Forget(now_, [this](const Worker& worker) { return IsNamed(worker); });
}

// Something that is under way counts on its entry.
bool JobMachine::Impl::IsNamed(const Worker& worker) const {
  return IsMember(worker) || (group_ && group_->RankOf(worker.name, worker.incarnation)) ||
         (round_ && round_->Find(worker.name, worker.incarnation) != nullptr);
}

// Leavers go at the border, the last holder only once nobody else can take its state over.
bool JobMachine::Impl::LetLeaversGo() {
  bool gone = false;
  for (auto& [name, worker] : roster_.workers()) {
    if (!Parting(worker) || !worker.present()) continue;
    if (IsLastHolder(worker) && now_ < worker.leave_by) {
      const bool heir =
          std::any_of(roster_.workers().begin(), roster_.workers().end(),
                      [&](const auto& e) { return e.second.present() && !Parting(e.second); });
      const bool unsaved = SaveMissing() && save_failed_step_ != committed_.step;
      if (unsaved) save_pending_ = true;
      if (heir || unsaved || Finishing()) {
        WakeAt(worker.leave_by);
        continue;
      }
    }
    if (Drains(worker)) {
      LetDrainedGo(worker);
    } else {
      Note("worker_left", fmt::format("{} leaves at the border", name), name);
      LetGo(worker, {GoodbyeReason::kLeft, "left on its own request", 5});
    }
    gone = true;
  }
  return gone;
}

// The last holder waits to leave: the next group takes its state over, however few are in it.
bool JobMachine::Impl::HandingOver() const {
  const auto& workers = roster_.workers();
  return std::any_of(workers.begin(), workers.end(), [this](const auto& e) {
    return e.second.present() && Parting(e.second) && IsLastHolder(e.second);
  });
}

}  // namespace rondo::server
