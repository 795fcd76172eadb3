// The coordinator's process: the real core behind a journal on a simulated disk, by the runtime's
// rule (server/runtime/coordinator, journal_thread): no message leaves before all records decided
// until then are on disk; what waits while a write is under way goes to disk together.
#ifndef RONDO_TESTS_SIMULATION_SIM_COORDINATOR_H_
#define RONDO_TESTS_SIMULATION_SIM_COORDINATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/partials.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

class SimCoordinator {
 public:
  // To a request; Unavailable: the process was not there, or died, and may have heard it.
  using Answered = std::function<void(const absl::StatusOr<server::SteerAnswer>&)>;

  SimCoordinator(World* world, const Weather* weather, server::MachineConfig config,
                 Network* network, Oracle* oracle, Promises* promises, const Partials* partials);

  // A process begins: a new term over what the disk holds.
  void Start();
  // It is killed, and starts again after a while.
  void Crash(const std::string& why);
  // It stops with all its queues, then goes on.
  void Stun(absl::Duration time);
  // A user's request; one at a time. `answered` is called once, later.
  void Ask(server::Event request, Answered answered);
  // The process has ended, and somebody starts it again on the same disk.
  void StartAgain();

  bool alive() const { return machine_ != nullptr; }
  // Of the process that ended the job.
  std::optional<int> exit_code() const { return exit_code_; }
  server::StatusView status() const { return machine_->status(world_->now()); }
  uint64_t total_steps() const { return total_steps_; }
  uint64_t crashes() const { return crashes_; }

 private:
  struct Held {
    uint64_t batch = 0;  // Leaves once this one is on disk.
    std::vector<server::Effect> effects;
    std::optional<absl::StatusOr<server::SteerAnswer>> answer;
  };

  // What the disk says, and what follows from it.
  struct Copy {
    server::History history;
    Oracle oracle;
    Promises promises;
  };

  void MayCopyDisk();
  void MayPutCopyBack();
  void Submit(const server::Event& event);
  void Handle(const server::Event& event);
  void Absorb(server::Effects effects);
  void Wake(absl::Time at);
  void BeginWrite();
  void Write();
  void FinishWrite();
  void ReleaseDurable();
  void Perform(const server::Effect& effect);
  void Answer(const absl::StatusOr<server::SteerAnswer>& answer);
  void LeaveUnanswered();

  World* const world_;
  const Weather* const weather_;
  const server::MachineConfig config_;
  Network* const network_;
  Oracle* const oracle_;
  Promises* const promises_;

  // The disk: survives the process. What its records say is enough to begin from.
  const Partials* const partials_;
  server::History history_;
  absl::Time full_until_ = absl::InfinitePast();
  std::optional<Copy> copy_;

  std::unique_ptr<server::JobMachine> machine_;  // Null while there is no process.
  uint64_t life_ = 0;
  uint64_t timer_ = 0;
  bool stunned_ = false;
  std::deque<server::Event> inbox_;  // Of a stunned process.
  uint64_t last_batch_ = 0;
  uint64_t writing_batch_ = 0;
  uint64_t durable_batch_ = 0;
  bool writing_ = false;
  std::vector<server::Record> waiting_;
  std::vector<server::Record> under_way_;
  std::deque<Held> held_;
  std::optional<server::Event> request_;  // Not yet answered.
  Answered answered_;

  std::optional<int> exit_code_;
  uint64_t total_steps_ = 0;
  uint64_t crashes_ = 0;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SIM_COORDINATOR_H_
