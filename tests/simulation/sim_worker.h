// A worker of the simulation: the real worker core with a trainer that computes abstract states.
#ifndef RONDO_TESTS_SIMULATION_SIM_WORKER_H_
#define RONDO_TESTS_SIMULATION_SIM_WORKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/rondo/v1/training.pb.h"
#include "tests/simulation/data_plane.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/partials.h"
#include "tests/simulation/pieces.h"
#include "tests/simulation/saved_residuals.h"
#include "tests/simulation/states.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"
#include "worker/core/machine.h"

namespace rondo::simulation {

// What the simulation does for a worker.
struct Surroundings {
  World* world = nullptr;
  States* states = nullptr;
  DataPlane* data_plane = nullptr;
  Network* network = nullptr;
  Oracle* oracle = nullptr;
  const Weather* weather = nullptr;
  Partials* partials = nullptr;
  SavedResiduals* residuals = nullptr;
  bool sparse = false;  // The job's collective may leave residuals.
  bool sparse_is_faster = false;
  uint64_t partial_every = 0;  // Steps; 0: none.
  int64_t train_samples = 0;
  uint64_t test_samples = 0;
  absl::Duration step;  // Of its training loop, on average.
  // Its process has ended.
  std::function<void()> ended;
};

class SimWorker : public Caller {
 public:
  SimWorker(std::string name, uint64_t incarnation, Surroundings surroundings);

  void Start();
  void Hear(uint64_t dial, const v1::CoordinatorMessage& message) override;
  void StreamLost(uint64_t dial) override;
  void AskToLeave(absl::Duration grace);
  void Kill();
  // Stops with all its queues, then goes on.
  void Freeze(absl::Duration time);
  // The training loop stands still from now on; what else there is goes on.
  void Stall(absl::Duration time);

  const std::string& id() const override { return id_; }
  const std::string& name() const { return name_; }
  uint64_t incarnation() const { return incarnation_; }
  bool alive() const { return alive_; }
  std::optional<int> exit_code() const { return exit_code_; }
  bool frozen() const { return frozen_; }
  const worker::Duties& duties() const { return machine_.duties(); }

 private:
  void Handle(const worker::Event& event);
  // Now, or when it thaws; never if it is dead.
  void Run(std::function<void()> what);
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

  void TakeResidual(const worker::FormGroup& command);
  void FinishForming(const worker::FormGroup& command, const Meeting& meeting);
  void FinishRepair(const worker::FormGroup& command, const Meeting& meeting);
  // Parallel mode: one step after the other, each a meeting; then one for the buffers.
  void TrainParallel(const worker::Order& order, uint64_t training);
  void NextStep(const worker::Order& order, uint64_t training);
  void JoinStep(const worker::Order& order, uint64_t training, uint64_t index);
  void FinishStep(const std::set<uint64_t>& result, const Pieces& taken);
  void MayFlip(const Meeting& meeting);
  void FailStep(const worker::Order& order, const std::string& why);
  void FailStep(const worker::Order& order, worker::FailureCause cause, const std::string& why);
  void AverageBuffers(const worker::Order& order, uint64_t training);
  // Local rounds.
  void TrainLocal(const worker::Order& order, uint64_t training);
  bool Resume(const worker::Order& order, uint64_t* first);
  void SavePartial(const worker::Order& order, uint64_t next_step);
  // When the loop does not stand still.
  void WhenMoving(std::function<void()> what);
  void FinishReduce(const worker::Reduce& reduce, const Meeting& meeting);
  void Join(const std::string& key, Offer offer, DataPlane::Done done, DataPlane::Failed failed);
  std::vector<std::vector<Sample>> SamplesOf(const worker::Order& order);  // By step.
  worker::Ready ReadyOf(const worker::Order& order) const;
  Offer OfferOf(uint64_t group);
  std::set<uint64_t> WorkOf(const Meeting& meeting) const;
  worker::ReduceFacts FactsOf(uint64_t state, const Pieces& residual, uint64_t reductions) const;
  // What a reduction of these offers takes.
  Pieces TakenFrom(const Meeting& meeting) const;
  uint64_t Average(uint64_t parent, const std::set<uint64_t>& work, const Pieces& taken);
  static std::string KeyOf(uint64_t round, uint64_t group, uint32_t attempt);

  const std::string name_;
  const uint64_t incarnation_;
  const std::string id_;
  const Surroundings around_;
  worker::Machine machine_;
  bool alive_ = true;
  bool frozen_ = false;
  absl::Time stalled_until_ = absl::InfinitePast();
  absl::Time stalled_since_ = absl::InfinitePast();
  std::vector<std::function<void()>> inbox_;  // While frozen.
  std::optional<int> exit_code_;
  uint64_t dial_ = 0;
  uint64_t timer_ = 0;  // Number of the newest wish.

  std::optional<uint64_t> state_;
  uint64_t work_ = 0;      // Of the order in hand.
  uint64_t training_ = 0;  // Number of the newest Train or DropOrder.
  bool finite_ = true;
  bool spoils_moments_ = false;  // The order in hand does.
  bool sick_ = false;            // The moments it holds are not finite.
  uint64_t left_ = 0;            // The newest group that it has left.
  // Of a parallel round: the next step, the state there, what the last step averaged in.
  uint64_t round_ = 0;
  uint64_t stands_at_ = 0;
  uint64_t working_ = 0;
  std::set<uint64_t> result_;
  Pieces taken_;            // What the last step took.
  uint64_t step_work_ = 0;  // What it trained in the step that it is at.
  bool flawed_ = false;
  // Read from its file, for the next order.
  std::optional<Partial> partial_;
  std::vector<std::vector<Sample>> samples_;
  worker::FormGroup formed_;
  struct Staged {
    uint64_t state = 0;
    Pieces residual;
  };
  std::map<std::string, Staged> staged_;
  // What reductions have left of its work, in rounds of this mode.
  Pieces residual_;
  worker::Mode residual_mode_ = worker::Mode::kLocal;
  worker::Collective collective_ = worker::Collective::kRing;  // Of the order in hand.
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SIM_WORKER_H_
