// A worker of the simulation: the real worker core with a trainer that computes abstract states.
#ifndef RONDO_TESTS_SIMULATION_SIM_WORKER_H_
#define RONDO_TESTS_SIMULATION_SIM_WORKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "proto/rondo/v1/training.pb.h"
#include "tests/simulation/data_plane.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"
#include "worker/core/machine.h"

namespace rondo::simulation {

// What the simulation does for a worker.
struct Surroundings {
  World* world = nullptr;
  States* states = nullptr;
  DataPlane* data_plane = nullptr;
  int64_t train_samples = 0;
  uint64_t test_samples = 0;
  // A stream of this worker is wanted, or no longer; a message goes out on it.
  std::function<void(uint64_t dial)> open;
  std::function<void(uint64_t dial)> close;
  std::function<void(const v1::WorkerMessage&)> send;
  // It says that it now holds the state of a committed round.
  std::function<void(uint64_t round, uint64_t state)> holds;
};

struct Pace {
  absl::Duration step = absl::Milliseconds(20);
  double not_finite = 0;  // Chance of a round.
  double flips = 0;       // Chance that a reduce's result is wrong here.
};

class SimWorker {
 public:
  SimWorker(std::string name, uint64_t incarnation, Pace pace, Surroundings surroundings);

  void Start();
  void Hear(uint64_t dial, const v1::CoordinatorMessage& message);
  void StreamLost(uint64_t dial);
  void AskToLeave(absl::Duration grace);
  void Kill();

  const std::string& name() const { return name_; }
  uint64_t incarnation() const { return incarnation_; }
  bool alive() const { return alive_; }
  std::optional<int> exit_code() const { return exit_code_; }
  uint64_t dial() const { return dial_; }
  const worker::Duties& duties() const { return machine_.duties(); }

 private:
  struct Staged {
    uint64_t state = 0;
  };

  void Handle(const worker::Event& event);
  void Later(absl::Duration delay, std::function<void()> what);
  void Beat();

  void Do(const worker::OpenStream& command);
  void Do(const worker::CloseStream& command);
  void Do(const worker::Send& command);
  void Do(const worker::UseLimits&) {}
  void Do(const worker::Prepare& command);
  void Do(const worker::Listen& command);
  void Do(const worker::FormGroup& command);
  void Do(const worker::LeaveGroup& command);
  void Do(const worker::Train& command);
  void Do(const worker::DropOrder& command);
  void Do(const worker::ReduceState& command);
  void Do(const worker::ApplyStaged& command);
  void Do(const worker::DropStaged& command);
  void Do(const worker::Evaluate& command);
  void Do(const worker::Save& command);
  void Do(const worker::Exit& command);

  void FinishForming(const worker::FormGroup& command, const Meeting& meeting);
  void FinishSteps(const worker::Order& order);
  void FinishReduce(const worker::Reduce& reduce, const Meeting& meeting);
  std::vector<Sample> SamplesOf(const worker::Order& order);
  Offer OfferOf(uint64_t group);
  uint64_t AverageOf(const Meeting& meeting);
  static std::string KeyOf(uint64_t round, uint64_t group, uint32_t attempt);

  const std::string name_;
  const uint64_t incarnation_;
  const std::string id_;
  const Pace pace_;
  const Surroundings around_;
  worker::Machine machine_;
  bool alive_ = true;
  std::optional<int> exit_code_;
  uint64_t dial_ = 0;
  uint64_t timer_ = 0;  // Number of the newest wish.

  std::optional<uint64_t> state_;
  uint64_t work_ = 0;      // Of the order in hand.
  uint64_t training_ = 0;  // Number of the newest Train or DropOrder.
  bool finite_ = true;
  worker::FormGroup formed_;
  std::map<std::string, uint64_t> staged_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SIM_WORKER_H_
