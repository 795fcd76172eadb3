#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/edge/training_codec.h"

namespace rondo::simulation {
namespace {

constexpr absl::Duration kBound = absl::Hours(1);

}  // namespace

server::MachineConfig Simulation::MakeConfig() {
  server::MachineConfig config;
  config.job_id = "simulated-0123456789abcdef";
  config.term = {1};
  config.schedule.kind = ScheduleKind::kCosine;
  config.schedule.peak = 0.5;
  config.schedule.final = 0.01;
  config.schedule.warmup_steps = static_cast<int64_t>(world_.Below(8));
  config.policy.policy = SyncPolicy::kPower;
  config.policy.alpha = 0.5 + 0.25 * static_cast<double>(world_.Below(4));
  config.policy.base_steps = 1 + static_cast<int64_t>(world_.Below(5));
  config.policy.max_steps = 40;
  if (weather_.parallel) {
    config.policy.policy = SyncPolicy::kPostLocal;
    config.policy.switch_step = 20;
    config.policy.round_steps = 1 + static_cast<int64_t>(world_.Below(9));
  }
  config.epochs = 1 + world_.Below(4);
  config.workers_min = 1 + world_.Below(3);
  config.workers_max = config.workers_min + world_.Below(4);
  if (world_.Chance(0.3)) {
    config.workers_max = config.workers_min;
    config.batch_per_worker = 1 + world_.Below(7);
  } else {
    config.batch_global = 1 + world_.Below(30);
  }
  config.wait = absl::Seconds(world_.Below(6));
  config.has_test_set = world_.Chance(0.7);
  config.evaluate_every_epochs = world_.Below(3);
  config.checkpoint_every_steps = world_.Chance(0.3) ? 10 + world_.Below(30) : 0;
  config.token_seed = {1, 2};
  return config;
}

Simulation::Simulation(uint64_t seed, const Weather& weather, bool keep_log)
    : world_(seed),
      weather_(weather),
      config_(MakeConfig()),
      train_samples_(60 + world_.Below(400)),
      data_plane_(&world_),
      oracle_(&world_, &states_, train_samples_),
      machine_(config_) {
  world_.keep_log = keep_log;
}

Outcome Simulation::Run() {
  Take(machine_.Start(world_.now()));
  const uint64_t count = config_.workers_min + world_.Below(config_.workers_max + 1);
  for (uint64_t i = 0; i < count; ++i) {
    world_.After(world_.Between(absl::ZeroDuration(), absl::Seconds(4)),
                 [this]() { AddWorker(fmt::format("w{}", ++names_)); });
  }
  world_.After(absl::Seconds(1), [this]() { Weathering(); });
  const absl::Time end = world_.now() + kBound;
  while (world_.violation().empty() && !exit_code_ && world_.now() < end && world_.Step()) {
  }
  const absl::Time goodbye = world_.now() + absl::Seconds(10);
  while (world_.violation().empty() && world_.now() < goodbye && world_.Step()) {
  }
  CheckEnd();
  return {world_.violation(), oracle_.end(),           oracle_.commits(), oracle_.groups(),
          oracle_.retries(),  exit_code_.value_or(-1), world_.log()};
}

void Simulation::CheckEnd() {
  if (!world_.violation().empty()) return;
  if (!exit_code_) {
    const server::StatusView status = machine_.status(world_.now());
    return world_.Violate(fmt::format("no end: step {} of {}, round {}, {}", status.step,
                                      status.total_steps, status.open_round, status.reason));
  }
  if (!oracle_.end()) return world_.Violate("the process ended without an end record");
  const bool failed = oracle_.end()->state == server::EndState::kFailed;
  if ((*exit_code_ != 0) != failed) world_.Violate("the exit code contradicts the end record");
  if (!failed && oracle_.end()->state == server::EndState::kDone &&
      oracle_.end()->step != machine_.status(world_.now()).total_steps) {
    world_.Violate("done before the last step");
  }
}

void Simulation::AddWorker(const std::string& name) {
  Pace pace;
  pace.step = world_.Between(absl::Milliseconds(5), absl::Milliseconds(60));
  pace.not_finite = weather_.not_finite;
  pace.flips = weather_.flips;
  Surroundings around;
  around.world = &world_;
  around.states = &states_;
  around.data_plane = &data_plane_;
  around.train_samples = static_cast<int64_t>(train_samples_);
  around.test_samples = config_.has_test_set ? 33 : 0;
  const size_t index = workers_.size();
  around.open = [this, index](uint64_t dial) { Open(workers_[index].get(), dial); };
  around.close = [this, index](uint64_t dial) { CloseByWorker(workers_[index].get(), dial); };
  around.send = [this, index](const v1::WorkerMessage& m) { SendUp(workers_[index].get(), m); };
  around.holds = [this](uint64_t round, uint64_t state) { oracle_.SeeHolding(round, state); };
  workers_.push_back(std::make_unique<SimWorker>(name, ++last_incarnation_, pace, around));
  world_.Log("starts " + name);
  workers_.back()->Start();
}

// Once a second: what befalls the workers.
void Simulation::Weathering() {
  const bool fair = world_.now() - absl::UnixEpoch() > weather_.until;
  std::vector<SimWorker*> alive;
  for (const auto& worker : workers_) {
    if (worker->alive()) alive.push_back(worker.get());
  }
  if (!fair && !alive.empty() && !exit_code_) {
    SimWorker* worker = alive[world_.Below(alive.size())];
    if (world_.Chance(weather_.kills)) {
      world_.Log("kills " + worker->name());
      worker->Kill();
      world_.After(world_.Between(absl::Milliseconds(100), absl::Seconds(20)),
                   [this, name = worker->name()]() { AddWorker(name); });
    } else if (world_.Chance(weather_.leaves)) {
      world_.Log("SIGTERM to " + worker->name());
      worker->AskToLeave(world_.Between(absl::Milliseconds(100), absl::Seconds(30)));
    }
  }
  if (!fair && world_.Chance(weather_.joins)) AddWorker(fmt::format("w{}", ++names_));
  // Enough workers come in the end: a job that lacks them waits for ever, as it should.
  if (fair && alive.size() < config_.workers_min && !exit_code_) {
    AddWorker(fmt::format("w{}", ++names_));
  }
  world_.After(absl::Seconds(1), [this]() { Weathering(); });
}

// ------------------------------------------------------------------------------------ network

Simulation::Stream* Simulation::Find(StreamId id) {
  const auto it = streams_.find(id.value);
  return it == streams_.end() || !it->second.open ? nullptr : &it->second;
}

std::optional<StreamId> Simulation::StreamOf(const SimWorker* worker, uint64_t dial) const {
  for (const auto& [id, stream] : streams_) {
    if (stream.worker == worker && stream.dial == dial && stream.open) return StreamId{id};
  }
  return std::nullopt;
}

absl::Duration Simulation::InOrder(absl::Time& last) {
  const absl::Time at =
      world_.now() + world_.Between(absl::Microseconds(100), absl::Milliseconds(30));
  last = std::max(at, last + absl::Nanoseconds(1));
  return last - world_.now();
}

void Simulation::Open(SimWorker* worker, uint64_t dial) {
  const StreamId id{++last_stream_};
  streams_[id.value] = Stream{worker, dial, true, world_.now(), world_.now()};
  world_.After(InOrder(streams_[id.value].last_up), [this, id]() {
    if (Find(id) != nullptr) Submit(server::StreamOpened{id});
  });
}

void Simulation::CloseByWorker(SimWorker* worker, uint64_t dial) {
  const auto id = StreamOf(worker, dial);
  if (!id) return;
  Stream& stream = *Find(*id);
  // The coordinator hears the last words before the end.
  world_.After(InOrder(stream.last_up), [this, id = *id]() {
    if (Find(id) == nullptr) return;
    Find(id)->open = false;
    Submit(server::StreamClosed{id});
  });
}

void Simulation::Break(StreamId id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  stream->open = false;
  world_.Log(fmt::format("stream {} of {} breaks", id, stream->worker->name()));
  world_.After(world_.Between(absl::ZeroDuration(), absl::Milliseconds(300)),
               [this, id]() { Submit(server::StreamClosed{id}); });
  world_.After(world_.Between(absl::ZeroDuration(), absl::Milliseconds(300)),
               [worker = stream->worker, dial = stream->dial]() { worker->StreamLost(dial); });
}

void Simulation::SendUp(SimWorker* worker, const v1::WorkerMessage& message) {
  const auto id = StreamOf(worker, worker->dial());
  if (!id) return;
  const auto parsed = server::ParseWorkerMessage(message);
  if (!parsed.ok()) return world_.Violate(parsed.status().ToString());
  const int times = world_.Chance(weather_.twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    world_.After(InOrder(Find(*id)->last_up), [this, id = *id, message = *parsed]() {
      if (Find(id) != nullptr) Submit(server::Received{id, message});
    });
  }
  const bool fair = world_.now() - absl::UnixEpoch() > weather_.until;
  if (!fair && world_.Chance(weather_.breaks)) Break(*id);
}

void Simulation::SendDown(StreamId id, const server::CoordinatorMessage& message) {
  oracle_.SeeSent(message.body);
  if (Find(id) == nullptr) return;
  for (v1::CoordinatorMessage& encoded : server::EncodeCoordinatorMessage(message)) {
    if (encoded.has_welcome()) {
      encoded.mutable_welcome()->mutable_job()->set_name("simulated");
      v1::SessionLimits& limits = *encoded.mutable_welcome()->mutable_limits();
      limits.set_heartbeat_seconds(1);
      limits.set_silent_seconds(5);
      limits.set_collective_seconds(30);
      limits.set_abort_seconds(10);
    }
    world_.After(InOrder(Find(id)->last_down), [this, id, encoded]() {
      Stream* stream = Find(id);
      if (stream != nullptr) stream->worker->Hear(stream->dial, encoded);
    });
  }
  const bool fair = world_.now() - absl::UnixEpoch() > weather_.until;
  if (!fair && world_.Chance(weather_.breaks)) Break(id);
}

// ------------------------------------------------------------------------------------ coordinator

void Simulation::Submit(const server::Event& event) {
  if (exit_code_) return;
  Take(machine_.Handle(event, world_.now()));
}

void Simulation::Take(server::Effects effects) {
  journal_.push_back({std::move(effects.records), std::move(effects.effects)});
  if (!writing_) WriteNext();
  if (effects.wake_at == absl::InfiniteFuture()) {
    ++timer_;
    return;
  }
  const uint64_t timer = ++timer_;
  world_.After(std::max(absl::Nanoseconds(1), effects.wake_at - world_.now()), [this, timer]() {
    if (timer == timer_) Submit(server::TimerFired{});
  });
}

void Simulation::WriteNext() {
  while (!journal_.empty()) {
    if (!journal_.front().records.empty()) {
      writing_ = true;
      world_.After(world_.Between(absl::Microseconds(500), absl::Milliseconds(20)), [this]() {
        writing_ = false;
        for (const server::Record& record : journal_.front().records) oracle_.See(record);
        journal_.front().records.clear();
        WriteNext();
      });
      return;
    }
    const std::vector<server::Effect> effects = std::move(journal_.front().effects);
    journal_.pop_front();
    for (const server::Effect& effect : effects) Execute(effect);
  }
}

void Simulation::Execute(const server::Effect& effect) {
  if (const auto* send = std::get_if<server::Send>(&effect)) {
    SendDown(send->stream, send->message);
  } else if (const auto* close = std::get_if<server::CloseStream>(&effect)) {
    Stream* stream = Find(close->stream);
    if (stream == nullptr) return;
    world_.After(InOrder(stream->last_down), [this, id = close->stream]() {
      Stream* s = Find(id);
      if (s == nullptr) return;
      s->open = false;
      s->worker->StreamLost(s->dial);
    });
  } else if (const auto* checkpoint = std::get_if<server::CompleteCheckpoint>(&effect)) {
    world_.After(world_.Between(absl::Milliseconds(1), absl::Milliseconds(100)),
                 [this, step = checkpoint->step]() {
                   Submit(server::CheckpointCompleted{step, true, ""});
                 });
  } else if (const auto* finish = std::get_if<server::Finish>(&effect)) {
    exit_code_ = finish->exit_code;
  }
}

}  // namespace rondo::simulation
