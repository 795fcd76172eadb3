#include "tests/e2e/cluster.h"

#include <fmt/format.h>

#include <vector>

#include "absl/time/clock.h"

namespace rondo::e2e {

Cluster::Cluster(const std::string& folder)
    : folder_(folder),
      state_(NewFolder("state")),
      coordinator_({Runfile("server/rondo-coordinator"), "--job", folder + "/job.yaml", "--state",
                    state_, "--listen", "127.0.0.1:0"}) {
  const std::string line = coordinator_.WaitForLine("address=");
  address_ = line.substr(line.find('=') + 1);
}

Program& Cluster::AddWorker(const std::string& name, int grace_seconds) {
  const std::vector<std::string> argv = {Runfile("worker/rondo-worker"),
                                         "--coordinator",
                                         address_,
                                         "--name",
                                         name,
                                         "--files",
                                         folder_,
                                         "--grace-seconds",
                                         fmt::format("{}", grace_seconds)};
  return workers_.emplace(name, Program(argv)).first->second;
}

nlohmann::json Cluster::Status() const {
  const Ended status = RunToEnd(Rondo({"status", "--state", state_, "--json"}));
  return status.exit_code == 0 ? JsonLines(status.out).at(0) : nlohmann::json();
}

bool Cluster::WaitFor(const std::function<bool(const nlohmann::json&)>& good) const {
  const absl::Time until = absl::Now() + kPatience;
  while (absl::Now() < until) {
    const nlohmann::json status = Status();
    if (!status.is_null() && good(status)) return true;
  }
  return false;
}

bool Cluster::WaitForOpenRound(int round) const {
  return WaitFor([&](const nlohmann::json& status) { return status["round"].get<int>() >= round; });
}

bool Cluster::WaitForEvent(const std::string& kind) const {
  return WaitFor([&](const nlohmann::json& status) {
    for (const nlohmann::json& event : status["events"]) {
      if (event["kind"] == kind) return true;
    }
    return false;
  });
}

bool Cluster::WaitForReason(const std::string& part) const {
  return WaitFor([&](const nlohmann::json& status) {
    return status["reason"].get<std::string>().find(part) != std::string::npos;
  });
}

}  // namespace rondo::e2e
