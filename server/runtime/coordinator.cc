#include "server/runtime/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/log.h"

namespace rondo::server {
namespace {

constexpr int kExitInternal = 70;
constexpr absl::Duration kTimerPause = absl::Milliseconds(1);

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

Coordinator::Coordinator(std::unique_ptr<Machine> machine, Journal* journal, Clock* clock,
                         CoordinatorOptions options)
    : clock_(clock),
      options_(std::move(options)),
      machine_(std::move(machine)),
      notices_(options_.notices.begin(), options_.notices.end()) {
  if (!notices_.empty()) notices_seen_ = notices_.back().number;
  journal_thread_ = std::make_unique<JournalThread>(
      journal,
      JournalReports{
          .on_durable = [this](uint64_t batch,
                               const std::vector<Record>& records) { OnDurable(batch, records); },
          .on_blocked = [this](std::string text) { OnBlocked(std::move(text)); },
          .on_unblocked = [this] { OnUnblocked(); },
          .on_failed = [this](const absl::Status& status) { OnJournalFailed(status); }},
      options_.journal_retry);
}

Coordinator::~Coordinator() { Stop(); }

void Coordinator::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    started_ = true;  // Nobody waits for a start that does not come.
    stopping_ = true;
    timer_news_ = true;
  }
  if (timer_thread_.joinable()) timer_thread_.join();
  std::unique_ptr<JournalThread> journal_thread;
  {
    absl::MutexLock lock(&mutex_);
    journal_thread = std::move(journal_thread_);
  }
  journal_thread.reset();
  absl::MutexLock lock(&mutex_);
  DropHeld(absl::UnavailableError("the coordinator has ended"));
}

void Coordinator::Start(StreamSink* streams, CheckpointSink* checkpoints) {
  {
    absl::MutexLock lock(&mutex_);
    streams_ = streams;
    checkpoints_ = checkpoints;
    view_on_disk_ = machine_->status(clock_->Now());
    Absorb(machine_->Start(clock_->Now()));
    started_ = true;
  }
  if (options_.run_timers) timer_thread_ = std::thread([this] { RunTimers(); });
}

void Coordinator::Submit(const Event& event) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&started_));
  if (journal_failed_ || stopping_) return;  // Nothing may be decided any more.
  Absorb(machine_->Handle(event, clock_->Now()));
}

void Coordinator::Ask(const Event& request, Answered answered) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&started_));
  if (journal_failed_ || stopping_) {
    return answered(absl::UnavailableError("the coordinator is ending"));
  }
  if (blocked_) {
    return answered(absl::UnavailableError(
        fmt::format("the journal cannot be written, so nothing is decided: {}", blocked_text_)));
  }
  Absorb(machine_->Handle(request, clock_->Now()), answered);
}

void Coordinator::FireDueTimer() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_->Now();
  if (journal_failed_ || stopping_ || wake_at_ > now) return;
  Absorb(machine_->Handle(TimerFired{}, now));
}

void Coordinator::Absorb(Effects effects, const Answered& answered) {
  if (effects.wake_at != wake_at_) {
    wake_at_ = effects.wake_at;
    timer_news_ = true;
  }
  if (!effects.records.empty()) {
    journal_thread_->Append(++last_batch_, std::move(effects.records));
    views_ahead_.emplace_back(last_batch_, machine_->status(clock_->Now()));
  }
  if (effects.effects.empty() && answered == nullptr) return;
  held_.push_back({last_batch_, std::move(effects.effects), nullptr});
  if (answered != nullptr) {
    const absl::StatusOr<SteerAnswer> answer =
        effects.answer.value_or(absl::InternalError("the request was not answered"));
    held_.back().answer = [answered, answer](const absl::Status& given) {
      answered(given.ok() ? answer : given);
    };
  }
  ReleaseDurable();
}

void Coordinator::DropHeld(const absl::Status& why) {
  for (const Held& held : held_) {
    if (held.answer != nullptr) held.answer(why);
  }
  held_.clear();
}

void Coordinator::ReleaseDurable() {
  while (!held_.empty() && held_.front().batch <= durable_batch_) {
    const Held held = std::move(held_.front());
    held_.pop_front();
    for (const Effect& effect : held.effects) Perform(effect);
    if (held.answer != nullptr) held.answer(absl::OkStatus());
  }
}

void Coordinator::Perform(const Effect& effect) {
  std::visit(Overloaded{
                 [this](const Send& send)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { streams_->Send(send.stream, send.message); },
                 [this](const CloseStream& close) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                   streams_->Close(close.stream, close.reason);
                 },
                 [this](const CompleteCheckpoint& request)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { checkpoints_->Complete(request); },
                 [this](const TrimCheckpoints& request)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { checkpoints_->Trim(request); },
                 [this](const LookForPartials& request)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { checkpoints_->Look(request); },
                 [this](const LookForCheckpoint& request)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { checkpoints_->Look(request); },
                 [this](const Finish& finish) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                   End({finish.exit_code, finish.reason});
                 },
             },
             effect);
}

void Coordinator::End(Outcome outcome) {
  if (outcome_) return;
  outcome_ = std::move(outcome);
  for (RoundWatcher* watcher : watchers_) watcher->OnEnd();
}

void Coordinator::OnDurable(uint64_t batch, const std::vector<Record>& records) {
  absl::MutexLock lock(&mutex_);
  durable_batch_ = batch;
  while (!views_ahead_.empty() && views_ahead_.front().first <= batch) {
    view_on_disk_ = std::move(views_ahead_.front().second);
    views_ahead_.pop_front();
  }
  for (const Record& record : records) OnRecord(record);
  ReleaseDurable();
}

void Coordinator::OnRecord(const Record& record) {
  if (const auto* commit = std::get_if<CommitRecord>(&record)) {
    for (RoundWatcher* watcher : watchers_) watcher->OnRound(*commit);
    LogEvent(LogLevel::kDebug, "committed",
             {{"round", fmt::to_string(commit->round)},
              {"first_step", fmt::to_string(commit->first_step)},
              {"length", fmt::to_string(commit->length)},
              {"loss", fmt::to_string(commit->mean_loss)}});
  } else if (const auto* notice = std::get_if<NoticeRecord>(&record)) {
    LogEvent(LogLevel::kInfo, notice->kind, {{"text", notice->text}});
    notices_.push_back({++notices_seen_, *notice});
    if (notices_.size() > kNoticesKept) notices_.pop_front();
  }
}

void Coordinator::OnBlocked(std::string text) {
  absl::MutexLock lock(&mutex_);
  LogEvent(LogLevel::kError, "journal_blocked", {{"text", text}});
  blocked_ = true;
  blocked_text_ = std::move(text);
  for (Held& held : held_) {
    if (held.answer == nullptr) continue;
    std::exchange(held.answer, nullptr)(absl::UnavailableError(fmt::format(
        "the journal cannot be written; the request takes effect once it can: {}", blocked_text_)));
  }
}

void Coordinator::OnUnblocked() {
  absl::MutexLock lock(&mutex_);
  LogEvent(LogLevel::kInfo, "journal_goes_on");
  blocked_ = false;
  blocked_text_.clear();
}

void Coordinator::OnJournalFailed(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  const std::string text =
      absl::IsAborted(status)
          ? fmt::format("{}; this coordinator ends: it has written and sent nothing since",
                        std::string(status.message()))
          : fmt::format(
                "the journal could not be written and the outcome of the last write is "
                "unknown: {}; nothing was sent after it",
                status.ToString());
  LogEvent(LogLevel::kError, "journal_failed", {{"text", text}});
  journal_failed_ = true;
  DropHeld(absl::UnavailableError("the journal could not be written"));
  End({kExitInternal, text});
}

void Coordinator::RunTimers() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    timer_news_ = false;
    const absl::Time now = clock_->Now();
    if (!journal_failed_ && wake_at_ <= now) {
      Absorb(machine_->Handle(TimerFired{}, now));
    }
    // A wish for a time that is past is granted again, but others come first.
    const absl::Time until =
        journal_failed_ ? absl::InfiniteFuture() : std::max(wake_at_, now + kTimerPause);
    mutex_.AwaitWithDeadline(absl::Condition(&timer_news_), until);
  }
}

Outcome Coordinator::WaitUntilFinished() {
  absl::MutexLock lock(&mutex_);
  const auto finished = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return outcome_.has_value(); };
  mutex_.Await(absl::Condition(&finished));
  return *outcome_;
}

StatusView Coordinator::ViewOnDisk() const {
  StatusView live = machine_->status(clock_->Now());
  if (views_ahead_.empty()) return live;
  StatusView view = view_on_disk_;
  view.members = std::move(live.members);
  view.samples_per_second = live.samples_per_second;
  view.live_step = live.live_step;
  return view;
}

CoordinatorStatus Coordinator::Status() {
  absl::MutexLock lock(&mutex_);
  return {.view = ViewOnDisk(),
          .blocked = blocked_,
          .blocked_text = blocked_text_,
          .notices = {notices_.begin(), notices_.end()}};
}

std::vector<WorkerRow> Coordinator::Workers() {
  absl::MutexLock lock(&mutex_);
  return machine_->workers();
}

void Coordinator::AddWatcher(RoundWatcher* watcher) {
  absl::MutexLock lock(&mutex_);
  watchers_.insert(watcher);
  if (outcome_) watcher->OnEnd();
}

void Coordinator::RemoveWatcher(RoundWatcher* watcher) {
  absl::MutexLock lock(&mutex_);
  watchers_.erase(watcher);
}

}  // namespace rondo::server
