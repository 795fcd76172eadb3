// Who stands still, is sick, keeps dying, or wants to leave.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"
#include "server/core/words.h"

namespace rondo::server {
namespace {

// Of the grace before a kill, this much is kept for the last words and the end of the process.
absl::Duration MarginOf(absl::Duration grace) { return std::min(absl::Seconds(2), grace / 4); }

}  // namespace

// ------------------------------------------------------------------------------------ standing

// S91: heartbeats of a process whose loop does not move are worth nothing.
void JobMachine::Impl::On(Worker& worker, const Progress& message) {
  worker.progress = message;
  const absl::Duration limit =
      std::max(config_.limits.stall, absl::Seconds(20 * committed_.step_seconds));
  const bool moves_by_steps =
      message.activity == Activity::kTraining || message.activity == Activity::kEvaluating;
  if (!moves_by_steps || message.stalled_seconds <= absl::ToDoubleSeconds(limit)) return;
  if (!worker.gone()) DropStalled(worker);
}

// It counts as lost, and its process is told to end: what it is stuck in, it would stay in.
void JobMachine::Impl::DropStalled(Worker& worker) {
  const std::string text = fmt::format("its training loop has stood still for {:.0f} s",
                                       worker.progress.stalled_seconds);
  discipline_.NoteLoss(worker.name, now_);
  Note("worker_stalled", fmt::format("{}: {}; it is told to exit", worker.name, text), worker.name,
       worker.progress.stalled_seconds);
  LetGo(worker, {GoodbyeReason::kExcluded,
                 text + " while its heartbeats went on (limits.stall_seconds)", kExitStalled});
}

// ------------------------------------------------------------------------------------ sick

// Rule 15, after a commit: who was not finite in so many rounds in a row leaves. `round_` is still
// the committed one.
void JobMachine::Impl::ExcludeSick() {
  for (const Contribution& c : round_->attempt->contributions) {
    const RoundMember& member = round_->members[c.member];
    Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr || worker->gone()) continue;
    worker->not_finite_rounds = IsFinite(member) ? 0 : worker->not_finite_rounds + 1;
    if (worker->not_finite_rounds < config_.limits.not_finite_max) continue;
    const std::string text =
        fmt::format("not finite in {} in a row", Counted(config_.limits.not_finite_max, "round"));
    const absl::Time until = discipline_.NoteExclusion(worker->name, now_);
    Note("worker_excluded",
         fmt::format("{}: {}; its name is barred for {}", worker->name, text,
                     absl::FormatDuration(until - now_)),
         worker->name);
    LetGo(*worker, {GoodbyeReason::kExcluded, text, 1});
  }
}

// ------------------------------------------------------------------------------------ dying

// True: a new process under this name has to wait, and has been told so.
bool JobMachine::Impl::MakeWait(StreamId stream, const Hello& hello) {
  const std::string& name = hello.name;
  const absl::Time until = discipline_.BarredUntil(name, now_);
  if (until <= now_) return false;
  const double seconds = absl::ToDoubleSeconds(until - now_);
  const uint64_t losses = discipline_.Losses(name, now_);
  const std::string why = losses == 0   ? "its last process was told to leave"
                          : losses == 1 ? "a process of its name was lost"
                                        : fmt::format("{} processes of its name were lost", losses);
  const std::string text = fmt::format(
      "'{}' may come in after {:.0f} s: {} (workers.cool_down_seconds)", name, seconds, why);
  TellToWait(stream, hello, Wait{WaitReason::kCoolDown, text, seconds});
  Worker* worker = roster_.Find(name);
  if (worker != nullptr && worker->gone() && worker->cools_down_until != until) {
    worker->cools_down_until = until;
    Note("worker_cools_down", text, name);
  }
  return true;
}

// Who would be here but for its cool-down, in words; empty: nobody.
std::string JobMachine::Impl::CoolingDown() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : roster_.workers()) {
    if (!worker.gone() || worker.cools_down_until <= now_) continue;
    names.push_back(fmt::format("{} (for {:.0f} s)", name,
                                absl::ToDoubleSeconds(worker.cools_down_until - now_)));
  }
  return names.empty()
             ? ""
             : fmt::format("{} {} down", Listed(names), names.size() == 1 ? "cools" : "cool");
}

// ------------------------------------------------------------------------------------ leaving

void JobMachine::Impl::On(Worker& worker, const Leave& message) {
  if (worker.gone()) return;
  if (!worker.leaving) {
    const absl::Duration grace = absl::Seconds(message.grace_seconds);
    worker.leaving = message;
    worker.leave_by = now_ + grace - MarginOf(grace);
    Note("worker_leaves",
         fmt::format("{} wants to leave within {:.0f} s: {}", worker.name, message.grace_seconds,
                     message.text),
         worker.name);
  }
  if (IsLastHolder(worker)) return;
  const bool ordered =
      round_ && round_->Find(worker.name, worker.incarnation) != nullptr && Holds(worker);
  if (ordered && (phase_ == Phase::kReducing || CanFinishOrder(worker, message))) return;
  const bool border_work = phase_ == Phase::kEvaluating || phase_ == Phase::kSaving;
  if (!ordered && border_work && IsMember(worker)) return;  // Until it is done, or time is up.
  Note("worker_left", fmt::format("{} leaves at once", worker.name), worker.name);
  LetGo(worker, {GoodbyeReason::kLeft, "left on its own request", 5});
}

// S75: whatever it was waited for, it goes while it still can.
void JobMachine::Impl::CheckLeaver(Worker& worker) {
  if (!worker.leaving || !worker.stream || IsLastHolder(worker)) return;
  if (now_ < worker.leave_by) return WakeAt(worker.leave_by);
  Note("worker_left", fmt::format("{} leaves: its grace is nearly over", worker.name), worker.name);
  LetGo(worker, {GoodbyeReason::kLeft, "left on its own request, its grace is nearly over", 5});
}

// Rule 16. Judged by the worker's pace in this round.
bool JobMachine::Impl::CanFinishOrder(const Worker& worker, const Leave& leave) const {
  const RoundMember* member = round_->Find(worker.name, worker.incarnation);
  if (member->ready) return true;
  const uint64_t first = round_->first_step;
  const uint64_t done = leave.round == round_->id && leave.steps_done > first
                            ? std::min(leave.steps_done - first, round_->length)
                            : 0;
  const uint64_t all_done = round_->so_far.steps + done;
  const absl::Duration per_step =
      (now_ - round_->ordered_at) / static_cast<double>(std::max<uint64_t>(1, all_done));
  const absl::Duration rest = per_step * static_cast<double>(round_->length - done) +
                              absl::Seconds(committed_.reduce_seconds) + config_.limits.report;
  return now_ + rest <= worker.leave_by;
}

// The state would go with it.
bool JobMachine::Impl::IsLastHolder(const Worker& worker) const {
  if (!Holds(worker)) return false;
  for (const auto& [name, other] : roster_.workers()) {
    if (name != worker.name && other.present() && Holds(other) && !Parting(other)) return false;
  }
  return true;
}

}  // namespace rondo::server
