// For tests of JobMachine: workers that answer as they should, on streams without delay, and a
// clock that moves when told. One seed chooses whose message comes next.
#ifndef RONDO_SERVER_CORE_SCRIPTED_WORKERS_H_
#define RONDO_SERVER_CORE_SCRIPTED_WORKERS_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mix64.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"

namespace rondo::server {

// A small job: 100 samples, batch 10, 3 epochs, constant H = 4, workers a, b, ...
MachineConfig SmallJob(uint64_t workers_min, uint64_t workers_max);
Facts SmallFacts();

// Names a staged result.
struct StagedKey {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
  auto operator<=>(const StagedKey&) const = default;
};

// A worker as the coordinator sees it. What it answers can be changed by the test.
struct ScriptedWorker {
  std::string name;
  Incarnation incarnation;
  uint64_t dial = 0;
  StreamId stream;
  bool connected = false;
  std::optional<Returning> returning;  // Sent with the next Hello.
  Facts facts = SmallFacts();
  Seen seen;            // Term 0: it has had no Welcome.
  GroupId seen_before;  // The newest group before the last Welcome of another life.
  uint64_t state = 0;   // Stands for the parameters; its hash is itself.
  RoundId round;        // Of the state.
  bool mute_endpoint = false;
  bool mute_formed = false;
  bool mute_ready = false;
  bool mute_reduced = false;
  bool mute_failed = false;  // An Abort of its parallel steps is not answered.
  bool mute_evaluated = false;
  bool mute_saved = false;
  bool cannot_read = false;  // Files of a checkpoint.
  bool cannot_read_partial = false;
  uint64_t last_round = ~uint64_t{0};  // It answers no later order.
  bool finite = true;
  bool sick_moments = false;  // They are not finite, until a border's group is formed.
  uint64_t finite_every = 0;  // Rounds whose number it divides are finite all the same.
  std::optional<uint64_t> wrong_hash;
  std::optional<uint64_t> wrong_state;
  uint64_t stands_at = 0;     // In a parallel round: its next step.
  uint64_t parameters = 500;  // What Formed says of them in a repair.
  double loss = 1;
  double leaves_residual = 0;  // Squared norm after each sparse reduce.
  double residual = 0;         // That it has.
  double ring_seconds = 0;     // Of a reduce.
  double sparse_seconds = 0;
  std::vector<CoordinatorMessage> heard;
  std::optional<uint32_t> exit_code;
  std::optional<Refuse> refused;
  std::optional<Order> order;
  std::optional<Ready> ready;  // Of that order.
  std::map<StagedKey, uint64_t> staged;

  // What it says in Hello when it comes back.
  Returning Describe() const;

  // What its reductions of this order cost, and left.
  ReduceFacts CostsOf(const Order& reduced) const {
    ReduceFacts facts;
    facts.reduce_seconds = ring_seconds;
    if (reduced.collective == Collective::kRing) return facts;
    facts.reduce_seconds = sparse_seconds;
    facts.residual_norm_squared = leaves_residual;
    facts.sparse = SparseStats{.reductions = 1, .selected = 5, .region_entries = 5, .delivered = 5};
    return facts;
  }

  // All bodies of one kind that it has heard.
  template <typename T>
  std::vector<T> Heard() const {
    std::vector<T> bodies;
    for (const CoordinatorMessage& m : heard) {
      if (const T* body = std::get_if<T>(&m.body)) bodies.push_back(*body);
    }
    return bodies;
  }
};

class Script {
 public:
  explicit Script(MachineConfig config, uint64_t seed = 1);
  // The term after `dead`'s, from what that has journaled: its workers come back.
  Script(Script& dead, uint64_t seed);
  // An old copy of the journal was put back: the term after that of `disk`.
  Script(Script& dead, std::vector<Record> disk, uint64_t seed);

  // A worker says Hello; Run lets it come in.
  ScriptedWorker& Join(const std::string& name, uint64_t incarnation = 1);
  // The same worker on a new stream.
  void Redial(ScriptedWorker& worker);
  void Break(ScriptedWorker& worker);  // Its stream.
  // Delivers messages until none is under way.
  void Run();
  bool RunOne();  // The next message; false: there is none.
  // Time passes: timers fire, heartbeats of connected workers come.
  void Pass(absl::Duration time);
  void Handle(const Event& event);
  // A user's request; what is under way is delivered after it.
  absl::StatusOr<SteerAnswer> Ask(const Event& request);
  void Say(ScriptedWorker& worker, WorkerBody body);
  void SayAs(StreamId stream, WorkerMessage message);

  // Records of one kind, oldest first.
  template <typename T>
  std::vector<T> Records() const {
    std::vector<T> found;
    for (const Record& record : records) {
      if (const T* r = std::get_if<T>(&record)) found.push_back(*r);
    }
    return found;
  }
  bool Noted(const std::string& kind) const;

  MachineConfig config;
  JobMachine machine;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  bool twice = false;  // Each message of a worker comes twice.
  std::vector<Record> records;
  std::map<std::string, std::unique_ptr<ScriptedWorker>> workers;
  std::vector<CompleteCheckpoint> checkpoints;
  std::vector<TrimCheckpoints> trims;
  bool checkpoint_ok = true;
  // The coordinator dies after so many transactions, of which the last one's messages do not leave;
  // or in front of the next one, when they have.
  std::optional<size_t> crash_after;
  bool crash_in_front = false;
  bool lose_in_flight = false;  // What was sent and not delivered by then.
  bool crashed = false;
  size_t transactions = 0;
  std::optional<uint64_t> failing_checkpoint;  // Its step.
  std::set<uint64_t> damaged;                  // Steps of checkpoints that are,
  bool damage_is_hidden = true;                // and whether only who reads them whole sees it.
  std::optional<std::string> away;             // Their folder is: why.
  std::vector<LookForCheckpoint> looks;
  std::optional<uint64_t> partial_step;  // The newest that all have.
  std::optional<Finish> finish;
  std::vector<StreamId> closed;
  std::map<StreamId, std::string> close_reasons;
  std::optional<absl::StatusOr<SteerAnswer>> answer;  // The last one.

 private:
  void Take(Effects effects);
  void Answer(ScriptedWorker& worker, const CoordinatorMessage& message);
  void AnswerWelcome(ScriptedWorker& worker, const Welcome& welcome);
  void SayReady(ScriptedWorker& worker);
  void AnswerRepair(ScriptedWorker& worker, const Assemble& assemble);
  void AnswerWork(ScriptedWorker& worker, const CoordinatorMessage& message);
  ScriptedWorker* WorkerOf(StreamId stream);

  SplitMix64 random_;
  StreamId last_stream_;
  std::map<StreamId, std::deque<CoordinatorMessage>> to_workers_;
  std::map<StreamId, std::deque<WorkerMessage>> to_machine_;
  absl::Time wake_at_ = absl::InfiniteFuture();
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_SCRIPTED_WORKERS_H_
