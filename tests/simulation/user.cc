#include "tests/simulation/user.h"

#include <variant>

#include "absl/status/status.h"

namespace rondo::simulation {

void User::Act(const std::vector<std::string>& workers) {
  if (waits_ || coordinator_->exit_code()) return;
  if (may_pause_ && (!world_->stormy() || world_->now() >= resumes_at_)) {
    return Ask(server::ResumeRequested{});
  }
  if (const auto request = Wish(workers)) Ask(*request);
}

std::optional<server::Event> User::Wish(const std::vector<std::string>& workers) {
  if (world_->Strikes(weather_->pauses)) {
    may_pause_ = true;
    resumes_at_ = world_->now() + world_->Between(absl::Milliseconds(10), absl::Seconds(20));
    return server::PauseRequested{"a user is at lunch"};
  }
  if (world_->Strikes(weather_->drains)) {
    const bool wrong = workers.empty() || world_->Chance(0.05);
    return server::DrainRequested{wrong ? "nobody" : workers[world_->Below(workers.size())]};
  }
  if (world_->Strikes(weather_->saves)) return server::CheckpointRequested{};
  if (world_->Strikes(weather_->stops)) {
    asked_to_stop_ = true;
    return server::StopRequested{"a user has seen enough"};
  }
  return std::nullopt;
}

void User::Ask(const server::Event& request) {
  waits_ = true;
  coordinator_->Ask(request, [this, request](const absl::StatusOr<server::SteerAnswer>& answer) {
    OnAnswer(request, answer);
  });
}

void User::OnAnswer(const server::Event& request,
                    const absl::StatusOr<server::SteerAnswer>& answer) {
  waits_ = false;
  const bool resumes = std::holds_alternative<server::ResumeRequested>(request);
  if (answer.ok()) {
    if (resumes) may_pause_ = false;
    return;
  }
  // Refused: there is nothing to do about it. Who starts the stopped job again lets it go on then.
  if (!absl::IsUnavailable(answer.status())) return;
  if (!resumes && world_->Chance(0.3)) return;
  waits_ = true;
  world_->After(world_->Between(absl::Milliseconds(100), absl::Seconds(5)),
                [this, request]() { Ask(request); });
}

}  // namespace rondo::simulation
