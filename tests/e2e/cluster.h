// A coordinator and workers as processes of their own, as a cluster runs them: nobody restarts or
// watches them but the test.
#ifndef RONDO_TESTS_E2E_CLUSTER_H_
#define RONDO_TESTS_E2E_CLUSTER_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/program.h"

namespace rondo::e2e {

class Cluster {
 public:
  // `folder`: of MakeJobFolder.
  explicit Cluster(const std::string& folder);

  // Starts a worker; `grace_seconds` lie between its SIGTERM and a kill that nobody here sends.
  Program& AddWorker(const std::string& name, int grace_seconds = 30);
  Program& worker(const std::string& name) { return workers_.at(name); }
  Program& coordinator() { return coordinator_; }
  const std::string& state() const { return state_; }

  // As `rondo status --json` has it; null while there is none.
  nlohmann::json Status() const;
  // Asks for the status until `good` likes it; false if it has not in good time.
  bool WaitFor(const std::function<bool(const nlohmann::json&)>& good) const;
  bool WaitForOpenRound(int round) const;
  bool WaitForEvent(const std::string& kind) const;
  bool WaitForReason(const std::string& part) const;

 private:
  std::string folder_;
  std::string state_;
  Program coordinator_;
  std::string address_;
  std::map<std::string, Program> workers_;
};

}  // namespace rondo::e2e

#endif  // RONDO_TESTS_E2E_CLUSTER_H_
