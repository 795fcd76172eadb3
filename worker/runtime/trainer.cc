#include "worker/runtime/trainer.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace rondo::worker {

Trainer::Trainer(TrainerParts parts, std::function<void(Event)> report)
    : report_(std::move(report)),
      work_(MemberParts{std::move(parts.load), parts.groups, parts.sink, parts.source, parts.clock,
                        &gauges_, &interrupts_}),
      thread_([this] { Run(); }) {}

Trainer::~Trainer() {
  interrupts_.Stop();
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Trainer::Do(const Command& command) {
  absl::MutexLock lock(&mutex_);
  const uint64_t number = ++numbers_;
  if (const auto* leave = std::get_if<LeaveGroup>(&command)) interrupts_.LeaveGroup(leave->group);
  if (std::holds_alternative<DropOrder>(command)) interrupts_.DropOrders(number);
  // An order after a save says that nobody waits for the save any more.
  if (std::holds_alternative<Train>(command)) interrupts_.WithdrawSaves(number);
  queue_.push_back({command, number});
}

void Trainer::Run() {
  while (true) {
    std::optional<Item> item;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Trainer::HasWork));
      if (stopping_) return;
      item = std::move(queue_.front());
      queue_.pop_front();
    }
    MemberWork::Answer answer;
    try {
      answer = Work(*item);
    } catch (const std::exception& e) {  // Memory, or a library's own.
      answer = RuntimeBroken{fmt::format("the trainer cannot go on: {}", e.what())};
    }
    if (answer) report_(*std::move(answer));
  }
}

MemberWork::Answer Trainer::Work(const Item& item) {
  return std::visit(
      [&](const auto& command) -> MemberWork::Answer {
        using T = std::decay_t<decltype(command)>;
        if constexpr (std::is_same_v<T, Train> || std::is_same_v<T, Save>) {
          return work_.Do(command, item.number);
        } else if constexpr (std::is_same_v<T, UseLimits>) {
          work_.set_collective_limit(absl::Seconds(command.limits.collective_seconds));
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, OpenStream> || std::is_same_v<T, CloseStream> ||
                             std::is_same_v<T, Send> || std::is_same_v<T, Exit>) {
          return std::nullopt;
        } else {
          return work_.Do(command);
        }
      },
      item.command);
}

}  // namespace rondo::worker
