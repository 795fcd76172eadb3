#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/job_shape.h"

namespace rondo::simulation {
namespace {

// The end of any job of this size, once the weather is fair.
constexpr absl::Duration kEndBound = absl::Hours(1);
// The first commit after the faults: a worker that froze last thaws, everybody is lost or back, a
// collective of who is lost runs into its limit, a group is formed, the longest round is done.
constexpr absl::Duration kProgressBound = absl::Minutes(5);

// Half of all seeds meet the weather as it is said, the others a milder one of its kind.
Weather Temper(Weather weather, World* world) {
  const double scale = world->Chance(0.5) ? 1.0 : 0.1 + 0.2 * static_cast<double>(world->Below(4));
  for (double* chance :
       {&weather.breaks,     &weather.slow,           &weather.kills,        &weather.freezes,
        &weather.stalls,     &weather.leaves,         &weather.massacres,    &weather.dies,
        &weather.not_finite, &weather.flips,          &weather.half_done,    &weather.crashes,
        &weather.stuns,      &weather.total_restarts, &weather.crash_before, &weather.crash_after,
        &weather.put_backs,  &weather.crash_amid,     &weather.unknown,      &weather.disk_full,
        &weather.pauses,     &weather.drains,         &weather.saves,        &weather.stops}) {
    *chance *= scale;
  }
  return weather;
}

}  // namespace

Simulation::Simulation(uint64_t seed, const Weather& weather, bool keep_log)
    : world_(seed),
      weather_(Temper(weather, &world_)),
      config_(DrawConfig(&world_, weather_)),
      train_samples_(DrawTrainSamples(&world_, config_)),
      data_plane_(&world_, weather_.half_done),
      network_(&world_, &weather_),
      oracle_(&world_, &states_, train_samples_, weather_.flips > 0),
      promises_(&world_),
      partials_(&world_),
      coordinator_(&world_, &weather_, config_, &network_, &oracle_, &promises_, &partials_),
      user_(&world_, &weather_, &coordinator_) {
  world_.keep_log = keep_log;
  world_.SetFairFrom(absl::UnixEpoch() + weather_.until);
  oracle_.ExpectCollective(config_.collective.kind, SparseIsFaster());
}

Outcome Simulation::Run() {
  coordinator_.Start();
  const uint64_t count = config_.workers_min + world_.Below(config_.workers_max + 1);
  for (uint64_t i = 0; i < count; ++i) {
    world_.After(world_.Between(absl::ZeroDuration(), absl::Seconds(4)),
                 [this]() { AddWorker(fmt::format("w{}", ++names_)); });
  }
  world_.After(absl::Seconds(1), [this]() { Befall(); });
  world_.After(weather_.until, [this]() { commits_at_fair_ = oracle_.commits(); });
  world_.After(weather_.until + kProgressBound, [this]() { CheckProgress(); });
  const absl::Time end = world_.fair_from() + kEndBound;
  while (world_.violation().empty() && !Over() && world_.now() < end && world_.Step()) {
  }
  const absl::Time goodbye = world_.now() + absl::Seconds(10);
  while (world_.violation().empty() && world_.now() < goodbye && world_.Step()) {
  }
  CheckEnd();
  return {.violation = world_.violation(),
          .end = oracle_.end(),
          .commits = oracle_.commits(),
          .groups = oracle_.groups(),
          .retries = oracle_.retries(),
          .terms = oracle_.term(),
          .voids = oracle_.voids(),
          .rewinds = oracle_.rewinds(),
          .resumed = oracle_.resumed(),
          .log = world_.log()};
}

// A job that a user has stopped may be started again with the same workers: it goes on.
bool Simulation::Over() {
  if (!coordinator_.exit_code()) return false;
  if (starts_again_) return false;
  const bool stopped = oracle_.end() && oracle_.end()->state == server::EndState::kStopped;
  if (!stopped || !world_.Chance(0.5)) return true;
  starts_again_ = true;
  world_.After(absl::Seconds(20), [this]() {
    starts_again_ = false;
    coordinator_.StartAgain();
    for (uint64_t i = 1; i <= names_; ++i) AddWorker(fmt::format("w{}", i));
  });
  return false;
}

void Simulation::CheckProgress() {
  if (oracle_.end() || oracle_.commits() > *commits_at_fair_) return;
  const std::string why = coordinator_.alive() ? coordinator_.status().reason : "no coordinator";
  world_.Violate(fmt::format("no commit within {} of fair weather: {}",
                             absl::FormatDuration(kProgressBound), why));
}

void Simulation::CheckEnd() {
  if (!world_.violation().empty()) return;
  if (!coordinator_.exit_code()) {
    return world_.Violate(
        fmt::format("no end: step {} of {}", oracle_.step(), coordinator_.total_steps()));
  }
  if (!oracle_.end()) return world_.Violate("the process ended without an end record");
  const server::EndRecord& end = *oracle_.end();
  const bool failed = end.state == server::EndState::kFailed;
  if ((*coordinator_.exit_code() != 0) != failed) {
    world_.Violate("the exit code contradicts the end record");
  }
  if (end.state == server::EndState::kDone && end.step != coordinator_.total_steps()) {
    world_.Violate("done before the last step");
  }
  if (!weather_.Deadly() && !user_.asked_to_stop() && oracle_.voids() + oracle_.undone() > 0) {
    world_.Violate("nobody died, and finished work was lost");
  }
  if (end.state != server::EndState::kDone && !MayEndEarly(end)) {
    world_.Violate("the job did not reach its last step: " + end.reason);
  }
}

// What may end this job before its last step.
bool Simulation::MayEndEarly(const server::EndRecord& end) const {
  if (end.state == server::EndState::kStopped) return user_.asked_to_stop();
  const auto says = [&](const char* what) { return end.reason.find(what) != std::string::npos; };
  if (weather_.not_finite > 0 && says("finite")) return true;
  if (weather_.flips > 0 && says("differ")) return true;
  return weather_.few_attempts && (says("failed") || says("could not be formed"));
}

// ------------------------------------------------------------------------------------ workers

void Simulation::AddWorker(const std::string& name) {
  if (coordinator_.exit_code()) return;
  // So that the run sees the whole weather: its steps take about as long, all together.
  const double steps = static_cast<double>(config_.epochs * train_samples_) /
                       static_cast<double>(config_.batch_global != 0
                                               ? config_.batch_global
                                               : config_.batch_per_worker * config_.workers_max);
  Surroundings around;
  around.world = &world_;
  around.states = &states_;
  around.data_plane = &data_plane_;
  around.network = &network_;
  around.oracle = &oracle_;
  around.weather = &weather_;
  around.partials = &partials_;
  around.residuals = &residuals_;
  around.sparse = config_.collective.kind != server::Collective::kRing;
  around.sparse_is_faster = SparseIsFaster();
  if (config_.partials) around.partial_every = config_.checkpoint_every_steps;
  around.step = std::min(absl::Seconds(2), world_.Between(absl::Seconds(10), absl::Seconds(60)) /
                                               std::max(1.0, steps));
  around.train_samples = static_cast<int64_t>(train_samples_);
  around.test_samples = config_.has_test_set ? 33 : 0;
  const size_t index = workers_.size();
  around.ended = [this, index]() { OnEnded(*workers_[index]); };
  workers_.push_back(std::make_unique<SimWorker>(name, ++last_incarnation_, around));
  world_.Log("starts " + workers_.back()->id());
  workers_.back()->Start();
}

// What was killed, or ended because of what it met, is started again.
void Simulation::OnEnded(const SimWorker& worker) {
  const std::optional<int> code = worker.exit_code();
  if (code == worker::kExitRefused && !oracle_.end() && !world_.stormy()) {
    world_.Violate(worker.id() + " was refused in fair weather");
  }
  const bool restarts = !code || *code == worker::kExitInternal ||
                        *code == worker::kExitCoordinatorAway ||
                        (*code == worker::kExitLeft && world_.Chance(0.3)) ||
                        (*code == 0 && !oracle_.end() && world_.Chance(0.5));  // Drained.
  if (!restarts) return;
  static constexpr double kAfter[] = {0.1, 1, 4, 15};
  world_.After(absl::Seconds(kAfter[world_.Below(4)] * (0.5 + world_.Below(100) / 100.0)),
               [this, name = worker.name()]() { AddWorker(name); });
}

std::vector<SimWorker*> Simulation::Alive() const {
  std::vector<SimWorker*> alive;
  for (const auto& worker : workers_) {
    if (worker->alive()) alive.push_back(worker.get());
  }
  return alive;
}

// Once a second.
void Simulation::Befall() {
  const std::vector<SimWorker*> alive = Alive();
  if (world_.stormy() && !coordinator_.exit_code()) {
    if (!alive.empty()) BefallWorker(alive[world_.Below(alive.size())]);
    if (world_.Chance(weather_.massacres)) {
      world_.Log("a massacre");
      for (SimWorker* worker : alive) {
        if (world_.Chance(0.9)) worker->Kill();
      }
    }
    if (world_.Chance(weather_.total_restarts)) RestartEverything();
    if (world_.Chance(weather_.joins)) AddWorker(fmt::format("w{}", ++names_));
    if (world_.Chance(weather_.crashes)) coordinator_.Crash("killed");
    if (world_.Chance(weather_.stuns)) {
      coordinator_.Stun(world_.Between(absl::Milliseconds(100), absl::Seconds(14)));
    }
  }
  std::vector<std::string> names;
  for (const SimWorker* worker : alive) names.push_back(worker->name());
  user_.Act(names);
  // Enough workers come in the end: a job that lacks them waits for ever, as it should.
  if (!world_.stormy() && alive.size() < config_.workers_min && !coordinator_.exit_code()) {
    AddWorker(fmt::format("w{}", ++names_));
  }
  world_.After(absl::Seconds(1), [this]() { Befall(); });
}

void Simulation::RestartEverything() {
  world_.Log("everything is killed");
  for (SimWorker* worker : Alive()) worker->Kill();
  coordinator_.Crash("killed with all workers");
}

void Simulation::BefallWorker(SimWorker* worker) {
  if (world_.Chance(weather_.kills)) {
    world_.Log("kills " + worker->id());
    worker->Kill();
  } else if (world_.Chance(weather_.leaves)) {
    world_.Log("SIGTERM to " + worker->id());
    worker->AskToLeave(world_.Between(absl::Milliseconds(100), absl::Seconds(30)));
  } else if (world_.Chance(weather_.freezes)) {
    worker->Freeze(world_.Between(absl::Milliseconds(50), absl::Seconds(15)));
  } else if (world_.Chance(weather_.stalls)) {
    worker->Stall(world_.Between(absl::Seconds(1), absl::Seconds(150)));
  }
}

}  // namespace rondo::simulation
