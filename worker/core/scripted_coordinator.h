// For the tests of the worker's core: a machine, the coordinator's side of its stream and a runtime
// that does nothing by itself, so that a test says every event.
#ifndef RONDO_WORKER_CORE_SCRIPTED_COORDINATOR_H_
#define RONDO_WORKER_CORE_SCRIPTED_COORDINATOR_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "worker/core/actions.h"
#include "worker/core/machine.h"
#include "worker/core/messages.h"

namespace rondo::worker {

inline constexpr char kTestJob[] = "digits-0123456789abcdef";
inline constexpr uint64_t kInitialHash = 11;

class ScriptedCoordinator {
 public:
  explicit ScriptedCoordinator(double away_seconds = 0) : machine_(Config(away_seconds)) {
    Take(machine_.Start(now_));
  }

  // The worker's commands and messages since the last call of Forget, in order.
  const std::vector<Command>& commands() const { return commands_; }
  const std::vector<WorkerMessage>& said() const { return said_; }
  void Forget() {
    commands_.clear();
    said_.clear();
  }
  template <typename T>
  const T* LastCommand() const {
    for (auto it = commands_.rbegin(); it != commands_.rend(); ++it) {
      if (const T* found = std::get_if<T>(&*it)) return found;
    }
    return nullptr;
  }
  template <typename T>
  const T* LastSaid() const {
    for (auto it = said_.rbegin(); it != said_.rend(); ++it) {
      if (const T* found = std::get_if<T>(&it->body)) return found;
    }
    return nullptr;
  }
  template <typename T>
  int Count() const {
    int count = 0;
    for (const Command& command : commands_) count += std::holds_alternative<T>(command);
    return count;
  }

  void Happen(const Event& event) { Take(machine_.Handle(event, now_)); }
  void Hear(CoordinatorBody body) {
    Happen(Received{dial_, CoordinatorMessage{kTestJob, term_, std::move(body)}});
  }
  void HearFrom(const std::string& job, Term term, CoordinatorBody body) {
    Happen(Received{dial_, CoordinatorMessage{job, term, std::move(body)}});
  }
  void Pass(absl::Duration time) {
    now_ += time;
    Happen(TimerFired{});
  }
  void LoseStream() { Happen(StreamLost{dial_, "broken"}); }

  void Welcome(worker::Welcome welcome = {}) { Hear(std::move(welcome)); }
  void Prepare() { Happen(PrepareDone{}); }

  // From Assemble to Formed, this worker ("w1") as rank `rank` of three.
  void Form(GroupId group, worker::Assemble assemble) {
    assemble.group = group;
    assemble.limit_seconds = 60;
    if (assemble.members.empty()) assemble.members = Members(StateNeed::kHolds);
    const RoundId round = assemble.round;
    Hear(assemble);
    Happen(EndpointReady{Endpoint{group, "here"}});
    Hear(Mesh{group, {"a", "here", "c"}, "0123456789abcdef"});
    Happen(GroupFormed{Formed{.group = group, .state_hash = kInitialHash + round.value}});
  }
  static std::vector<Member> Members(StateNeed need) {
    return {
        {"w0", {100}, StateNeed::kHolds}, {"w1", {101}, need}, {"w2", {102}, StateNeed::kHolds}};
  }
  static worker::Order MakeOrder(GroupId group, RoundId round, Mode mode, uint64_t length = 4) {
    worker::Order order;
    order.group = group;
    order.round = round;
    order.mode = mode;
    order.first_step = 10;
    order.length = length;
    order.rates.assign(length, 0.5);
    order.weight = 1;
    order.weight_sum = 3;
    return order;
  }
  static worker::Reduce MakeReduce(GroupId group, RoundId round, uint32_t attempt) {
    return {group, round, attempt, {{0, 1}, {1, 1}, {2, 1}}};
  }
  static Reduced MakeReduced(GroupId group, RoundId round, uint32_t attempt, uint64_t hash) {
    Reduced reduced;
    reduced.group = group;
    reduced.round = round;
    reduced.attempt = attempt;
    reduced.reduced.state_hash = hash;
    return reduced;
  }
  static Ready MakeReady(GroupId group, RoundId round, uint64_t hash = 0) {
    Ready ready;
    ready.group = group;
    ready.round = round;
    ready.steps = 4;
    ready.reduced.state_hash = hash;
    return ready;
  }

  static Failed MakeFailed(GroupId group, RoundId round = {}, uint32_t attempt = 0) {
    Failed failed;
    failed.group = group;
    failed.round = round;
    failed.attempt = attempt;
    return failed;
  }

  Machine& machine() { return machine_; }
  absl::Time now() const { return now_; }
  absl::Time wake_at() const { return wake_at_; }
  uint64_t dial() const { return dial_; }
  void set_term(Term term) { term_ = term; }

 private:
  static MachineConfig Config(double away_seconds) {
    MachineConfig config;
    config.name = "w1";
    config.incarnation = {101};
    config.seed = 7;
    config.limits.coordinator_away_seconds = away_seconds;
    return config;
  }
  void Take(Effects effects) {
    wake_at_ = effects.wake_at;
    for (Command& command : effects.commands) {
      if (const auto* open = std::get_if<OpenStream>(&command)) dial_ = open->dial;
      if (const auto* send = std::get_if<Send>(&command)) said_.push_back(send->message);
      commands_.push_back(std::move(command));
    }
  }

  Machine machine_;
  Term term_{1};
  absl::Time now_ = absl::FromUnixSeconds(1000);
  absl::Time wake_at_;
  uint64_t dial_ = 0;
  std::vector<Command> commands_;
  std::vector<WorkerMessage> said_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_SCRIPTED_COORDINATOR_H_
