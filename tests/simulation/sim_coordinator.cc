#include "tests/simulation/sim_coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "tests/simulation/trace.h"

namespace rondo::simulation {

SimCoordinator::SimCoordinator(World* world, const Weather* weather, server::MachineConfig config,
                               Network* network, Oracle* oracle, Promises* promises,
                               const Partials* partials)
    : world_(world),
      weather_(weather),
      config_(std::move(config)),
      network_(network),
      oracle_(oracle),
      promises_(promises),
      partials_(partials) {}

void SimCoordinator::Start() {
  ++life_;
  stunned_ = writing_ = false;
  last_batch_ = writing_batch_ = durable_batch_ = 0;
  server::MachineConfig config = config_;
  config.term = history_.term.Next();
  config.token_seed = {life_, 2};
  machine_ = std::make_unique<server::JobMachine>(std::move(config), history_);
  network_->CoordinatorStarts([this](const server::Event& event) { Submit(event); });
  Absorb(machine_->Start(world_->now()));
}

void SimCoordinator::Crash(const std::string& why) {
  if (!alive() || exit_code_) return;
  world_->Log("the coordinator dies: " + why);
  ++crashes_;
  ++life_;
  machine_.reset();
  held_.clear();
  waiting_.clear();
  inbox_.clear();
  network_->CoordinatorDies();
  LeaveUnanswered();
  MayCopyDisk();
  world_->After(world_->Between(absl::Milliseconds(100), absl::Seconds(12)), [this]() {
    MayPutCopyBack();
    Start();
  });
}

void SimCoordinator::MayCopyDisk() {
  if (weather_->put_backs == 0 || (copy_ && world_->Chance(0.7))) return;
  copy_ = Copy{history_, *oracle_, *promises_};
}

void SimCoordinator::MayPutCopyBack() {
  if (!copy_ || !world_->Strikes(weather_->put_backs)) return;
  world_->Log("an old copy of the disk is put back");
  history_ = copy_->history;
  oracle_->PutBack(copy_->oracle);
  *promises_ = copy_->promises;
}

void SimCoordinator::StartAgain() {
  world_->Log("the coordinator is started again");
  exit_code_.reset();
  held_.clear();
  waiting_.clear();
  inbox_.clear();
  network_->CoordinatorDies();
  Start();
}

void SimCoordinator::Stun(absl::Duration time) {
  if (!alive() || stunned_) return;
  world_->Log("the coordinator stops for " + absl::FormatDuration(time));
  stunned_ = true;
  world_->After(time, [this, life = life_]() {
    if (life != life_) return;
    stunned_ = false;
    const std::deque<server::Event> inbox = std::exchange(inbox_, {});
    for (const server::Event& event : inbox) {
      if (life == life_) Handle(event);
    }
    if (life == life_ && !writing_) BeginWrite();
  });
}

void SimCoordinator::Ask(server::Event request, Answered answered) {
  request_ = std::move(request);
  answered_ = std::move(answered);
  if (!alive() || exit_code_) return LeaveUnanswered();
  world_->Log("request: " + Describe(*request_));
  const server::Event event = *request_;
  Submit(event);
}

void SimCoordinator::Answer(const absl::StatusOr<server::SteerAnswer>& answer) {
  if (!request_) return world_->Violate("an answer to no request");
  const server::Event request = *std::exchange(request_, std::nullopt);
  if (world_->keep_log) {
    world_->Log("answer: " + (answer.ok() ? answer->text : answer.status().ToString()));
  }
  if (answer.ok()) promises_->SeeAnswer(request, *answer);
  world_->After(absl::Milliseconds(1),
                [answered = std::exchange(answered_, nullptr), answer]() { answered(answer); });
}

void SimCoordinator::LeaveUnanswered() {
  if (!std::exchange(request_, std::nullopt)) return;
  world_->After(absl::Milliseconds(1), [answered = std::exchange(answered_, nullptr)]() {
    answered(absl::UnavailableError("no coordinator"));
  });
}

void SimCoordinator::Submit(const server::Event& event) {
  if (!alive() || exit_code_) return;
  if (stunned_) return inbox_.push_back(event);
  Handle(event);
}

void SimCoordinator::Handle(const server::Event& event) {
  if (exit_code_) return;
  Absorb(machine_->Handle(event, world_->now()));
}

void SimCoordinator::Absorb(server::Effects effects) {
  Wake(effects.wake_at);
  if (!effects.records.empty()) {
    ++last_batch_;
    for (server::Record& record : effects.records) waiting_.push_back(std::move(record));
  }
  if (!effects.effects.empty() || effects.answer) {
    held_.push_back({last_batch_, std::move(effects.effects), std::move(effects.answer)});
  }
  if (!writing_) BeginWrite();
  ReleaseDurable();
}

void SimCoordinator::Wake(absl::Time at) {
  const uint64_t timer = ++timer_;
  if (at == absl::InfiniteFuture()) return;
  world_->After(std::max(absl::Nanoseconds(1), at - world_->now()), [this, timer, life = life_]() {
    if (timer == timer_ && life == life_) Submit(server::TimerFired{});
  });
}

void SimCoordinator::BeginWrite() {
  if (waiting_.empty()) return;
  writing_ = true;
  under_way_ = std::exchange(waiting_, {});
  writing_batch_ = last_batch_;
  if (world_->Strikes(weather_->crash_before)) return Crash("before a write");
  if (world_->Strikes(weather_->disk_full)) {
    full_until_ = world_->now() + world_->Between(absl::ZeroDuration(), absl::Seconds(20));
    world_->Log("the disk is full");
  }
  world_->After(world_->Between(absl::Microseconds(500), absl::Milliseconds(20)),
                [this, life = life_]() {
                  if (life == life_) Write();
                });
}

void SimCoordinator::Write() {
  if (stunned_ || world_->now() < full_until_) {
    return world_->After(absl::Milliseconds(500), [this, life = life_]() {
      if (life == life_) Write();
    });
  }
  const bool unknown = world_->Strikes(weather_->unknown);
  if (unknown && world_->Chance(0.5)) return Crash("a write failed; nothing is on disk");
  for (const server::Record& record : under_way_) {
    if (world_->keep_log) world_->Log("journal: " + Describe(record));
    if (const auto* reference = std::get_if<server::ReferenceRecord>(&record)) {
      total_steps_ = reference->total_steps;
    }
    const absl::Status fits = server::CheckNext(record, history_);
    if (!fits.ok()) world_->Violate(fits.ToString());
    server::Apply(record, &history_);
    oracle_->See(record);
    promises_->See(record);
  }
  if (unknown) return Crash("a write failed; its records are on disk");
  if (world_->Strikes(weather_->crash_after)) return Crash("after a write");
  FinishWrite();
}

void SimCoordinator::FinishWrite() {
  writing_ = false;
  durable_batch_ = writing_batch_;
  if (!stunned_) BeginWrite();
  ReleaseDurable();
}

void SimCoordinator::ReleaseDurable() {
  const uint64_t life = life_;
  while (life == life_ && !exit_code_ && !held_.empty() && held_.front().batch <= durable_batch_) {
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (held.answer) Answer(*held.answer);
    for (const server::Effect& effect : held.effects) {
      Perform(effect);
      if (world_->Strikes(weather_->crash_amid)) return Crash("between two messages");
    }
  }
}

void SimCoordinator::Perform(const server::Effect& effect) {
  if (const auto* send = std::get_if<server::Send>(&effect)) {
    oracle_->SeeSent(send->message);
    if (const auto* goodbye = std::get_if<server::Goodbye>(&send->message.body)) {
      promises_->SeeGoodbye(network_->WorkerOf(send->stream), *goodbye);
    }
    network_->SendDown(send->stream, send->message);
  } else if (const auto* close = std::get_if<server::CloseStream>(&effect)) {
    network_->CloseByCoordinator(close->stream);
  } else if (const auto* checkpoint = std::get_if<server::CompleteCheckpoint>(&effect)) {
    world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(100)),
                  [this, step = checkpoint->step, life = life_]() {
                    if (life == life_) Submit(server::CheckpointCompleted{step, true, ""});
                  });
  } else if (const auto* look = std::get_if<server::LookForPartials>(&effect)) {
    world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(100)),
                  [this, look = *look, life = life_]() {
                    if (life != life_) return;
                    const auto step = partials_->NewestOf(look.round.value, look.workers);
                    Submit(server::PartialsFound{look.round, step});
                  });
  } else if (const auto* look_for = std::get_if<server::LookForCheckpoint>(&effect)) {
    world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(100)),
                  [this, step = look_for->step, life = life_]() {
                    if (life == life_) Submit(server::CheckpointFound{step, {}, ""});
                  });
  } else if (const auto* finish = std::get_if<server::Finish>(&effect)) {
    exit_code_ = finish->exit_code;
    LeaveUnanswered();
  }
}

}  // namespace rondo::simulation
