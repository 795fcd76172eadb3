// What users ask of a running job: pause, resume, drain a worker, save a checkpoint, stop. A
// request that changes something is journaled, so that a later term keeps the promise; one that
// asks for what is so already changes nothing. Each is answered (Effects::answer).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "common/nearest.h"
#include "server/core/job_machine_impl.h"
#include "server/core/words.h"

namespace rondo::server {
namespace {

std::string WithReason(std::string text, const std::string& reason) {
  return reason.empty() ? text : fmt::format("{} ({})", text, reason);
}

}  // namespace

void JobMachine::Impl::On(const PauseRequested& event) { out_.answer = Pause(event.reason); }
void JobMachine::Impl::On(const ResumeRequested&) { out_.answer = Resume(); }
void JobMachine::Impl::On(const DrainRequested& event) { out_.answer = Drain(event.worker); }
void JobMachine::Impl::On(const CheckpointRequested&) { out_.answer = Checkpoint(); }
void JobMachine::Impl::On(const StopRequested& event) { out_.answer = Stop(event.reason); }

uint64_t JobMachine::Impl::NextBorder() const {
  return round_ ? round_->first_step + round_->length : committed_.step;
}

std::string JobMachine::Impl::WhenRoundEnds() const {
  return fmt::format("when round {} is committed, at step {}", round_->id, NextBorder());
}

uint64_t JobMachine::Impl::NewestCheckpoint() const {
  const auto& kept = history_.checkpoints;
  return kept.empty() ? 0 : kept.rbegin()->second.state.step;
}

// Why what is asked for at the next border may not come about: nobody who is here has the state.
// Empty: somebody has it, or it is in a checkpoint.
std::string JobMachine::Impl::Doubt() const {
  const bool away = committed_.round && !history_.rewound && !HolderIsHere();
  if (!away || (!round_ && !SaveMissing())) return "";
  const std::vector<std::string> absent = AbsentHolders();
  const std::string kept =
      NewestCheckpoint() == 0 ? "there is no checkpoint, all that was trained"
                              : fmt::format("checkpoint step-{} is kept, what was trained after it",
                                            NewestCheckpoint());
  if (absent.empty()) {
    return fmt::format("no worker holds the state of step {} any more; {} is lost", committed_.step,
                       kept);
  }
  return fmt::format(
      "no worker that is here holds the state of step {}, only {} can bring it back; {} is lost "
      "otherwise",
      committed_.step, Listed(absent), kept);
}

absl::Status JobMachine::Impl::CheckNotOver() const {
  if (phase_ != Phase::kOver) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the job is over since step {}: {}", committed_.step, end_reason_));
}

absl::StatusOr<SteerAnswer> JobMachine::Impl::Pause(const std::string& reason) {
  if (absl::Status over = CheckNotOver(); !over.ok()) return over;
  if (Finishing()) {
    return absl::FailedPreconditionError(
        fmt::format("the job is ending at step {} ({}): there is nothing left to pause",
                    committed_.step, stop_reason_ ? *stop_reason_ : "all steps are done"));
  }
  if (round_ && NextBorder() == static_cast<uint64_t>(config_.schedule.steps)) {
    return absl::FailedPreconditionError(fmt::format(
        "round {} is the last one: the job ends with it, at step {}", round_->id, NextBorder()));
  }
  if (!history_.pause) {
    Note("pause_requested", reason);
    Journal(RequestRecord{RequestKind::kPause, reason, "", {}, now_});
  }
  const std::string why = history_.pause->empty() ? "" : *history_.pause;
  const std::string when = round_ ? fmt::format("the job pauses {}", WhenRoundEnds())
                                  : fmt::format("the job is paused at step {}", committed_.step);
  const std::string doubt = Doubt();
  return SteerAnswer{
      !round_, NextBorder(),
      fmt::format("{}; {}", WithReason(when, why), doubt.empty() ? "its workers stay" : doubt)};
}

absl::StatusOr<SteerAnswer> JobMachine::Impl::Resume() {
  if (absl::Status over = CheckNotOver(); !over.ok()) return over;
  if (!history_.pause) return SteerAnswer{true, committed_.step, "the job is not paused"};
  Note("resumed", fmt::format("it was paused: {}", *history_.pause));
  Journal(RequestRecord{RequestKind::kResume, "", "", {}, now_});
  resting_ = false;
  const std::string doubt = Doubt();
  return SteerAnswer{true, committed_.step,
                     round_ ? fmt::format("the job does not pause; round {} is open", round_->id)
                     : doubt.empty() ? fmt::format("the job goes on from step {}", committed_.step)
                                     : fmt::format("the job is not paused any more; {}", doubt)};
}

// At a border: true if the job is to wait there because a user said so.
bool JobMachine::Impl::Resting() {
  if (!history_.pause || Finishing()) return false;
  below_minimum_since_.reset();  // Who is missing now may come until the job goes on.
  waits_for_ = WithReason("`rondo resume` lets it go on", *history_.pause);
  if (!std::exchange(resting_, true)) {
    Note("paused", fmt::format("at step {}", committed_.step));
  }
  return true;
}

bool JobMachine::Impl::Drains(const Worker& worker) const {
  const auto it = history_.drains.find(worker.name);
  return it != history_.drains.end() && it->second == worker.incarnation;
}

absl::Status JobMachine::Impl::UnknownWorker(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, worker] : roster_.workers()) {
    if (!worker.gone()) names.push_back(known);
  }
  const std::string nearest = NearestWord(name, names);
  std::string text = fmt::format("no worker is called '{}'", name);
  if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  if (names.empty()) {
    text += "; no worker is here";
  } else {
    text += fmt::format("; here {} {}", names.size() == 1 ? "is" : "are", Listed(names));
  }
  return absl::NotFoundError(text);
}

absl::StatusOr<SteerAnswer> JobMachine::Impl::Drain(const std::string& name) {
  if (absl::Status over = CheckNotOver(); !over.ok()) return over;
  Worker* worker = roster_.Find(name);
  if (worker == nullptr) return UnknownWorker(name);
  if (worker->standing == Standing::kLeft || worker->standing == Standing::kRefused) {
    return SteerAnswer{true, committed_.step,
                       fmt::format("{} is not here any more: {}", name, worker->text)};
  }
  if (!Drains(*worker)) {
    Note("drain_requested", fmt::format("{} is to leave at the next border", name), name);
    Journal(RequestRecord{RequestKind::kDrain, "", name, worker->incarnation, now_});
  }
  if (worker->standing == Standing::kLost) {
    LetDrainedGo(*worker);
    return SteerAnswer{true, committed_.step,
                       fmt::format("{} is lost already; it does not come back", name)};
  }
  const bool ordered = round_ && round_->Find(name, worker->incarnation) != nullptr;
  if (!ordered && !IsMember(*worker) && !Holds(*worker)) {
    LetDrainedGo(*worker);
    return SteerAnswer{true, committed_.step,
                       fmt::format("{} had no part in the round: it leaves at once", name)};
  }
  std::string text = ordered ? fmt::format("{} leaves {}", name, WhenRoundEnds())
                             : fmt::format("{} leaves at this border", name);
  if (IsLastHolder(*worker)) {
    text += ", once another worker holds the state or a checkpoint is complete";
  }
  return SteerAnswer{false, NextBorder(), text + MinimumAfterDrains()};
}

// What workers.min makes of the job once all who drain are gone; empty: it goes on.
std::string JobMachine::Impl::MinimumAfterDrains() const {
  uint64_t left = 0;
  for (const auto& [name, worker] : roster_.workers()) {
    if (!worker.gone() && !Parting(worker)) ++left;
  }
  if (left >= config_.workers_min) return "";
  return fmt::format("; {} worker{} left then, workers.min is {}: the job waits for more", left,
                     left == 1 ? " is" : "s are", config_.workers_min);
}

void JobMachine::Impl::LetDrainedGo(Worker& worker) {
  Note("worker_drained", fmt::format("{} leaves: a user asked for it", worker.name), worker.name);
  LetGo(worker, {GoodbyeReason::kDrained, "drained", 0});
}

absl::StatusOr<SteerAnswer> JobMachine::Impl::Checkpoint() {
  if (absl::Status over = CheckNotOver(); !over.ok()) return over;
  if (!round_ && !committed_.round) {
    return absl::FailedPreconditionError(
        "nothing is trained yet: there is nothing to save before the first round");
  }
  const uint64_t step = NextBorder();
  if (!round_ && saved_step_ == step) {
    return SteerAnswer{true, step, fmt::format("checkpoint step-{} is complete", step)};
  }
  const std::string doubt = Doubt();
  if (!round_ && !doubt.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("step {} cannot be saved now: {}", step, doubt));
  }
  const bool under_way = phase_ == Phase::kSaving || phase_ == Phase::kCompleting;
  if (!save_pending_ && !under_way) {
    Note("checkpoint_requested", fmt::format("at step {}", step));
    Journal(RequestRecord{RequestKind::kCheckpoint, "", "", {}, now_});
  }
  const std::string when = round_ ? WhenRoundEnds() : "now";
  return SteerAnswer{false, step,
                     fmt::format("checkpoint step-{} is saved {}{}{}", step, when,
                                 doubt.empty() ? "" : "; ", doubt)};
}

absl::StatusOr<SteerAnswer> JobMachine::Impl::Stop(const std::string& reason) {
  if (phase_ == Phase::kOver) {
    return SteerAnswer{true, committed_.step, fmt::format("the job is over: {}", end_reason_)};
  }
  if (!stop_reason_) {
    stop_reason_ = reason;
    Note("stop_requested", reason);
  }
  if (!committed_.round && !round_) {
    assembly_.reset();
    End(EndState::kStopped, reason);
    return SteerAnswer{true, 0, "the job has ended; nothing was trained"};
  }
  const uint64_t wanted = NextBorder();
  Advance();  // It may end at once.
  if (phase_ == Phase::kOver) {
    return SteerAnswer{
        true, committed_.step,
        fmt::format("the job has ended at step {}{}", committed_.step,
                    committed_.step < wanted ? "; what was trained after it is lost" : "")};
  }
  if (const std::string doubt = Doubt(); !doubt.empty()) {
    return SteerAnswer{false, NewestCheckpoint(),
                       fmt::format("the job stops at step {} if it can, else at step {}: {}",
                                   NextBorder(), NewestCheckpoint(), doubt)};
  }
  return SteerAnswer{
      false, NextBorder(),
      round_ ? fmt::format("the job stops {}, with a checkpoint there", WhenRoundEnds())
             : fmt::format("the job stops at step {}, with a checkpoint there", committed_.step)};
}

}  // namespace rondo::server
