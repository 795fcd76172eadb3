// A whole job in simulated time: the coordinator's process, worker cores with abstract trainers,
// the network between them, and faults, all from one seed.
#ifndef RONDO_TESTS_SIMULATION_SIMULATION_H_
#define RONDO_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/data_plane.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/partials.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/saved_residuals.h"
#include "tests/simulation/sim_coordinator.h"
#include "tests/simulation/sim_worker.h"
#include "tests/simulation/states.h"
#include "tests/simulation/user.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

struct Outcome {
  std::string violation;  // Empty: none.
  std::optional<server::EndRecord> end;
  uint64_t commits = 0;
  uint64_t groups = 0;
  uint64_t retries = 0;
  uint64_t terms = 0;
  uint64_t voids = 0;
  uint64_t rewinds = 0;
  uint64_t resumed = 0;  // Rounds that went on from partials.
  std::vector<std::string> log;
};

class Simulation {
 public:
  Simulation(uint64_t seed, const Weather& weather, bool keep_log = false);

  // Runs the job to its end.
  Outcome Run();

 private:
  void AddWorker(const std::string& name);
  void OnEnded(const SimWorker& worker);
  void Befall();
  void BefallWorker(SimWorker* worker);
  void RestartEverything();
  std::vector<SimWorker*> Alive() const;
  bool Over();
  // So workers measure it where they compare.
  bool SparseIsFaster() const { return world_.Aside(/*salt=*/3, 2) == 0; }
  bool MayEndEarly(const server::EndRecord& end) const;
  void CheckProgress();
  void CheckEnd();

  World world_;
  const Weather weather_;
  const server::MachineConfig config_;
  const uint64_t train_samples_;
  States states_;
  DataPlane data_plane_;
  Network network_;
  Oracle oracle_;
  Promises promises_;
  Partials partials_;
  SavedResiduals residuals_;
  SimCoordinator coordinator_;
  User user_;
  uint64_t last_incarnation_ = 0;
  uint64_t names_ = 0;
  bool starts_again_ = false;  // The stopped job will be.
  std::optional<uint64_t> commits_at_fair_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SIMULATION_H_
