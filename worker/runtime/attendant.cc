#include "worker/runtime/attendant.h"

#include <utility>
#include <variant>

namespace rondo::worker {

Attendant::Attendant(AttendantParts parts)
    : parts_(std::move(parts)),
      machine_(parts_.machine),
      wake_at_(absl::InfiniteFuture()),
      limits_(parts_.machine.limits) {}

Attendant::~Attendant() { Stop(); }

void Attendant::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Attendant::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Attendant::Post(Event event) {
  absl::MutexLock lock(&mutex_);
  queue_.push_back(std::move(event));
}

Exit Attendant::WaitForExit() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Attendant::HasExit));
  return *exit_;
}

SessionLimits Attendant::limits() {
  absl::MutexLock lock(&mutex_);
  return limits_;
}

void Attendant::Run() {
  Carry(machine_.Start(parts_.clock->Now()));
  while (true) {
    Event event = TimerFired{};
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithDeadline(absl::Condition(this, &Attendant::HasWork), wake_at_);
      if (stopping_) return;
      if (!queue_.empty()) {
        event = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    Carry(machine_.Handle(event, parts_.clock->Now()));
  }
}

void Attendant::Carry(Effects effects) {
  wake_at_ = effects.wake_at;
  for (const Command& command : effects.commands) {
    if (const auto* open = std::get_if<OpenStream>(&command)) {
      parts_.link->Open(open->dial);
    } else if (const auto* close = std::get_if<CloseStream>(&command)) {
      parts_.link->Close(close->dial);
    } else if (const auto* send = std::get_if<Send>(&command)) {
      parts_.link->Send(send->message);
    } else if (const auto* exit = std::get_if<Exit>(&command)) {
      absl::MutexLock lock(&mutex_);
      exit_ = *exit;
    } else {
      if (const auto* use = std::get_if<UseLimits>(&command)) {
        absl::MutexLock lock(&mutex_);
        limits_ = use->limits;
      }
      parts_.work(command);
    }
  }
}

}  // namespace rondo::worker
