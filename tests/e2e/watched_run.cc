#include "tests/e2e/watched_run.h"

#include <fmt/format.h>

#include "absl/time/clock.h"

namespace rondo::e2e {

WatchedRun::WatchedRun(const std::string& folder, int workers)
    : state_(NewFolder("state")), run_(RondoRun(folder + "/job.yaml", workers, state_)) {
  if (!run_.WaitForFile(state_ + "/coordinator.address")) return;
  watch_.emplace(Rondo({"watch", "--state", state_, "--from", "1", "--json"}));
}

bool WatchedRun::WaitForRound(int round) {
  return watch_ && !watch_->WaitForLine(fmt::format("\"round\":{},", round)).empty();
}

bool WatchedRun::WaitForOpenRound(int round) const {
  const absl::Time until = absl::Now() + kPatience;
  while (absl::Now() < until) {
    const Ended status = RunToEnd(Rondo({"status", "--state", state_, "--json"}));
    if (status.exit_code != 0) continue;
    if (JsonLines(status.out).at(0)["round"].get<int>() >= round) return true;
  }
  return false;
}

pid_t WatchedRun::WorkerPid(int index) const {
  return ChildWith(run_.pid(), fmt::format("worker-{}", index));
}

std::vector<nlohmann::json> WatchedRun::Rounds() const {
  return JsonLines(RunToEnd(Rondo({"rounds", "--state", state_, "--json"})).out);
}

nlohmann::json WatchedRun::Status() const {
  return JsonLines(RunToEnd(Rondo({"status", "--state", state_, "--json"})).out).at(0);
}

bool WatchedRun::HasEvent(const std::string& kind) const {
  for (const nlohmann::json& event : Status()["events"]) {
    if (event["kind"] == kind) return true;
  }
  return false;
}

}  // namespace rondo::e2e
