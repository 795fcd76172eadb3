// A whole job in simulated time: the coordinator core behind a journal with its delays, worker
// cores with abstract trainers, a network with delays between them, and faults, all from one seed.
#ifndef RONDO_TESTS_SIMULATION_SIMULATION_H_
#define RONDO_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/job_machine.h"
#include "tests/simulation/data_plane.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/sim_worker.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

// What a run may meet. Chances are by message or by second.
struct Weather {
  double breaks = 0;                         // Of a stream, at each message.
  double kills = 0;                          // Of some worker, each second.
  double leaves = 0;                         // SIGTERM to some worker, each second.
  double joins = 0;                          // A new worker, each second.
  double not_finite = 0;                     // Of a local round on a worker.
  double flips = 0;                          // Of a reduce's result on a worker.
  double twice = 0.02;                       // A worker's message comes twice.
  bool parallel = false;                     // Parallel rounds too.
  absl::Duration until = absl::Seconds(60);  // Then the weather is fair.
};

struct Outcome {
  std::string violation;  // Empty: none.
  std::optional<server::EndRecord> end;
  uint64_t commits = 0;
  uint64_t groups = 0;
  uint64_t retries = 0;
  int exit_code = -1;
  std::vector<std::string> log;
};

class Simulation {
 public:
  Simulation(uint64_t seed, const Weather& weather, bool keep_log = false);

  // Runs the job to its end, or for an hour of simulated time.
  Outcome Run();

 private:
  struct Stream {
    SimWorker* worker = nullptr;
    uint64_t dial = 0;
    bool open = true;
    absl::Time last_up;
    absl::Time last_down;
  };
  struct Transaction {
    std::vector<server::Record> records;
    std::vector<server::Effect> effects;
  };

  server::MachineConfig MakeConfig();
  void AddWorker(const std::string& name);
  void Weathering();

  // The network. What is in flight when a stream breaks is lost.
  void Open(SimWorker* worker, uint64_t dial);
  void CloseByWorker(SimWorker* worker, uint64_t dial);
  void SendUp(SimWorker* worker, const v1::WorkerMessage& message);
  void SendDown(StreamId stream, const server::CoordinatorMessage& message);
  void Break(StreamId stream);
  absl::Duration InOrder(absl::Time& last);
  Stream* Find(StreamId id);
  std::optional<StreamId> StreamOf(const SimWorker* worker, uint64_t dial) const;

  // The coordinator's process.
  void Submit(const server::Event& event);
  void Take(server::Effects effects);
  void WriteNext();
  void Execute(const server::Effect& effect);
  void CheckEnd();

  World world_;
  Weather weather_;
  server::MachineConfig config_;
  uint64_t train_samples_ = 0;
  States states_;
  DataPlane data_plane_;
  Oracle oracle_;
  server::JobMachine machine_;
  std::deque<Transaction> journal_;
  bool writing_ = false;
  uint64_t timer_ = 0;
  std::optional<int> exit_code_;
  uint64_t last_stream_ = 0;
  uint64_t last_incarnation_ = 0;
  uint64_t names_ = 0;
  std::map<uint64_t, Stream> streams_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SIMULATION_H_
