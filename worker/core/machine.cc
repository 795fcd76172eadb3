#include "worker/core/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace rondo::worker {
namespace {

// A stream that broke sooner than this after its Welcome did not work: the pause grows.
constexpr absl::Duration kWorkedAfter = absl::Seconds(1);

}  // namespace

Machine::Machine(MachineConfig config)
    : config_(std::move(config)),
      limits_(config_.limits),
      pauses_(config_.seed),
      duties_(config_.name, config_.incarnation) {}

Effects Machine::Start(absl::Time now) {
  heard_at_ = now;
  dial_at_ = now;
  CheckTimes(now);
  effects_.wake_at = WakeAt();
  return std::exchange(effects_, {});
}

Effects Machine::Handle(const Event& event, absl::Time now) {
  if (exited_) return {};
  std::visit([&](const auto& e) { On(e, now); }, event);
  CheckTimes(now);
  effects_.wake_at = WakeAt();
  return std::exchange(effects_, {});
}

// ------------------------------------------------------------------------------------ streams

void Machine::Dial(absl::Time now) {
  ++dial_;
  stream_ = Stream::kHello;
  hello_at_ = now;
  Hello hello;
  hello.name = config_.name;
  hello.incarnation = config_.incarnation;
  hello.dial = dial_;
  hello.device = config_.device;
  hello.protocol = config_.protocol;
  hello.rondo_version = config_.rondo_version;
  hello.torch_version = config_.torch_version;
  hello.nccl_version = config_.nccl_version;
  hello.host = config_.host;
  hello.pid = config_.pid;
  if (!job_id_.empty()) {
    hello.returning = duties_.Describe();
    hello.returning->seen.term = term_;
    hello.returning->seen.life = life_;
  }
  effects_.commands.push_back(OpenStream{dial_});
  effects_.commands.push_back(Send{WorkerMessage{job_id_, Term{}, std::move(hello)}});
}

void Machine::LoseStream(absl::Time now) {
  if (stream_ == Stream::kIn) {
    heard_at_ = now;
    if (now - welcomed_at_ >= kWorkedAfter) pauses_.Reset();
  }
  stream_ = Stream::kNone;
  dial_at_ = now + pauses_.Next();
}

void Machine::On(const StreamLost& event, absl::Time now) {
  if (event.dial == dial_ && stream_ != Stream::kNone) LoseStream(now);
}

void Machine::On(const Malformed& event, absl::Time) {
  if (event.dial != dial_ || stream_ == Stream::kNone) return;
  End(kExitRefused, fmt::format("a message of the coordinator cannot be read, does it run another "
                                "version? {}",
                                event.text));
}

void Machine::On(const Received& event, absl::Time now) {
  if (event.dial != dial_ || stream_ == Stream::kNone) return;
  const CoordinatorMessage& message = event.message;
  if (stream_ == Stream::kHello) {
    // The answer to Hello: it may come from a coordinator of another job or term, and say so.
    if (const auto* welcome = std::get_if<Welcome>(&message.body)) {
      OnWelcome(message, *welcome, now);
    } else if (const auto* wait = std::get_if<Wait>(&message.body)) {
      OnWait(*wait, now);
    } else if (const auto* refuse = std::get_if<Refuse>(&message.body)) {
      End(kExitRefused, fmt::format("the coordinator refused this worker: {}", refuse->text));
    } else if (const auto* goodbye = std::get_if<Goodbye>(&message.body)) {
      OnGoodbye(*goodbye);
    }
    return;
  }
  if (message.job_id != job_id_ || message.term != term_) return;
  Outcome outcome;
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, Welcome>) {
          // A duplicate.
        } else if constexpr (std::is_same_v<Body, Wait>) {
          OnWait(body, now);
        } else if constexpr (std::is_same_v<Body, Refuse>) {
          End(kExitRefused, fmt::format("the coordinator refused this worker: {}", body.text));
        } else if constexpr (std::is_same_v<Body, Goodbye>) {
          OnGoodbye(body);
        } else if constexpr (std::is_same_v<Body, Order>) {
          duties_.Handle(body, message.term, &outcome);
        } else {
          duties_.Handle(body, &outcome);
        }
      },
      message.body);
  Take(std::move(outcome), now);
}

void Machine::OnWelcome(const CoordinatorMessage& message, const Welcome& welcome, absl::Time now) {
  if (!job_id_.empty() && message.job_id != job_id_) {
    End(kExitRefused, fmt::format("the coordinator runs job '{}', this worker belongs to '{}'",
                                  message.job_id, job_id_));
    return;
  }
  if (message.term < term_) {  // A coordinator that was replaced.
    effects_.commands.push_back(CloseStream{dial_});
    LoseStream(now);
    return;
  }
  job_id_ = message.job_id;
  term_ = message.term;
  life_ = welcome.life;
  stream_ = Stream::kIn;
  welcomed_at_ = now;
  limits_ = welcome.limits;
  effects_.commands.push_back(UseLimits{limits_});
  if (prepared_) {
    Say(*prepared_);
  } else if (!preparing_) {
    preparing_ = true;
    effects_.commands.push_back(Prepare{welcome.files, welcome.reference});
  }
  Outcome outcome;
  duties_.Handle(welcome, term_, &outcome);
  duties_.SayUnanswered(&outcome);
  Take(std::move(outcome), now);
  if (leave_) SayLeave(now);
}

void Machine::OnWait(const Wait& wait, absl::Time now) {
  effects_.commands.push_back(CloseStream{dial_});
  stream_ = Stream::kNone;
  heard_at_ = now;  // It is there.
  dial_at_ = now + absl::Seconds(std::max(wait.retry_seconds, 0.01));
}

void Machine::OnGoodbye(const Goodbye& goodbye) {
  End(static_cast<int>(goodbye.exit_code), goodbye.text);
}

// ------------------------------------------------------------------------------------ the rest

void Machine::On(const TimerFired&, absl::Time) {}  // CheckTimes follows every event.

void Machine::On(const HeartbeatDue& event, absl::Time) {
  duties_.NoteStep(event.progress.step);
  Say(event.progress);
}

void Machine::On(const LeaveRequested& event, absl::Time now) {
  if (leave_) return End(kExitLeft, "told to leave twice");
  if (stream_ != Stream::kIn && !duties_.formed()) {
    return End(kExitLeft, "told to leave with no coordinator and no group");
  }
  duties_.NoteStep(event.steps_done);
  leave_ =
      Leave{.round = duties_.order_round(), .steps_done = event.steps_done, .text = event.text};
  leave_until_ = now + event.grace;
  SayLeave(now);
}

void Machine::SayLeave(absl::Time now) {
  leave_->grace_seconds = std::max(0.0, absl::ToDoubleSeconds(leave_until_ - now));
  Say(*leave_);
}

void Machine::On(const PrepareDone& event, absl::Time) {
  preparing_ = false;
  prepared_ = event.prepared;
  Say(*prepared_);
}

void Machine::On(const RuntimeBroken& event, absl::Time) { End(kExitInternal, event.text); }

template <typename T>
void Machine::On(const T& event, absl::Time now) {
  Outcome outcome;
  duties_.Handle(event, &outcome);
  Take(std::move(outcome), now);
}

void Machine::Take(Outcome outcome, absl::Time now) {
  for (Command& command : outcome.commands) effects_.commands.push_back(std::move(command));
  for (WorkerBody& body : outcome.messages) Say(std::move(body));
  if (outcome.abort_ended) abort_until_ = absl::InfiniteFuture();
  if (outcome.abort_begun) abort_until_ = now + absl::Seconds(limits_.abort_seconds);
}

void Machine::Say(WorkerBody body) {
  if (stream_ != Stream::kIn) return;
  effects_.commands.push_back(Send{WorkerMessage{job_id_, term_, std::move(body)}});
}

void Machine::End(int code, std::string text) {
  if (exited_) return;
  exited_ = true;
  effects_.commands.push_back(Exit{code, std::move(text)});
}

void Machine::CheckTimes(absl::Time now) {
  if (exited_) return;
  if (now >= abort_until_) {
    return End(kExitInternal, fmt::format("a collective did not end within {} s of its abort",
                                          limits_.abort_seconds));
  }
  if (now >= leave_until_) return End(kExitLeft, "the grace time after SIGTERM is over");
  if (now >= AwayUntil()) {
    return End(kExitCoordinatorAway, fmt::format("the coordinator has been away for {} s",
                                                 limits_.coordinator_away_seconds));
  }
  if (stream_ == Stream::kHello && now >= hello_at_ + absl::Seconds(limits_.silent_seconds)) {
    effects_.commands.push_back(CloseStream{dial_});
    LoseStream(now);
  }
  if (stream_ == Stream::kNone && now >= dial_at_) Dial(now);
}

absl::Time Machine::AwayUntil() const {
  if (stream_ == Stream::kIn || limits_.coordinator_away_seconds <= 0) {
    return absl::InfiniteFuture();
  }
  return heard_at_ + absl::Seconds(limits_.coordinator_away_seconds);
}

absl::Time Machine::WakeAt() const {
  if (exited_) return absl::InfiniteFuture();
  absl::Time at = std::min({abort_until_, leave_until_, AwayUntil()});
  if (stream_ == Stream::kNone) at = std::min(at, dial_at_);
  if (stream_ == Stream::kHello) {
    at = std::min(at, hello_at_ + absl::Seconds(limits_.silent_seconds));
  }
  return at;
}

}  // namespace rondo::worker
