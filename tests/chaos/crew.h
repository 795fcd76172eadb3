// A coordinator and its workers as real processes, with a relay and proxies between all of them.
//
//   worker ──▶ proxy ──▶ relay ──▶ coordinator        worker ──▶ proxy ──▶ worker
#ifndef RONDO_TESTS_CHAOS_CREW_H_
#define RONDO_TESTS_CHAOS_CREW_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/chaos/overheard.h"
#include "tests/chaos/relay.h"
#include "tests/chaos/tcp_proxy.h"
#include "tests/e2e/program.h"

namespace rondo::chaos {

// Past it something hangs.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

// "w0", "w1", ...: ranks follow the order of the names.
std::string WorkerName(int index);

// Threads: one, but for what its parts allow.
class Crew {
 public:
  // `folder` holds job.yaml and the data. Starts nothing.
  Crew(std::string folder, int workers);

  const std::string& state_dir() const { return state_dir_; }
  int size() const { return static_cast<int>(workers_.size()); }
  Relay& relay() { return relay_; }
  // What the worker's connection to the coordinator goes through.
  TcpProxy& line(int worker) { return workers_[worker]->line; }
  // What other workers' connections to it go through.
  TcpProxy& door(int worker) { return workers_[worker]->door; }
  const Overheard& overheard() const { return overheard_; }
  pid_t coordinator_pid() const { return coordinator_->pid(); }
  pid_t worker_pid(int worker) const { return workers_[worker]->process->pid(); }

  // Returns when it listens; false if it ended instead.
  bool StartCoordinator(const std::string& listen = "127.0.0.1:0");
  // Where the last one listened.
  const std::string& coordinator_address() const { return coordinator_address_; }
  void StartWorker(int worker);
  // False: the coordinator did not start.
  bool StartAll();
  // kill -9, and reaps it.
  void KillCoordinator();
  void KillWorker(int worker);
  void SignalWorker(int worker, int number) { workers_[worker]->process->Signal(number); }
  // Of a process that ends, or should, by itself.
  e2e::Ended WaitForWorker(int worker);
  e2e::Ended WaitForCoordinator();
  // Blocks until the coordinator's log has a line with `text`, since it was started last.
  bool CoordinatorLogs(const std::string& text);
  // All lines that all processes have logged, by time.
  std::string Chronicle() const;

 private:
  struct Worker {
    std::optional<e2e::Program> process;
    TcpProxy line;
    TcpProxy door;
  };

  void Witness(Passing& passing);

  const std::string folder_;
  const std::string state_dir_;
  Overheard overheard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Relay relay_;
  std::optional<e2e::Program> coordinator_;
  std::string coordinator_address_;
  std::vector<std::string> logs_;
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_CREW_H_
