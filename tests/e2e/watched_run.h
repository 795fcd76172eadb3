// `rondo run` in the background, followed round by round.
#ifndef RONDO_TESTS_E2E_WATCHED_RUN_H_
#define RONDO_TESTS_E2E_WATCHED_RUN_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {

class WatchedRun {
 public:
  // Workers are named worker-0, worker-1, ...
  WatchedRun(const std::string& folder, int workers);

  // Blocks until that round is committed; false if the run ends before.
  bool WaitForRound(int round);
  // Blocks until that round is ordered; false if it has not been in good time.
  bool WaitForOpenRound(int round) const;
  // -1: not there.
  pid_t WorkerPid(int index) const;
  Ended Wait() { return run_.Wait(); }

  // After the end, from the journal.
  std::vector<nlohmann::json> Rounds() const;
  nlohmann::json Status() const;
  // Whether one of the newest events is of this kind.
  bool HasEvent(const std::string& kind) const;
  const std::string& state() const { return state_; }

 private:
  std::string state_;
  Program run_;
  std::optional<Program> watch_;
};

}  // namespace rondo::e2e

#endif  // RONDO_TESTS_E2E_WATCHED_RUN_H_
