#include "server/core/start.h"

#include <algorithm>
#include <tuple>

namespace rondo::server {

StartDecision DecideStart(const StartPolicy& policy, std::span<const Candidate> candidates,
                          absl::Time now) {
  std::vector<Candidate> present(candidates.begin(), candidates.end());
  std::sort(present.begin(), present.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.since, a.name) < std::tie(b.since, b.name);
  });
  if (present.empty() || present.size() < policy.workers_min) return {StartVerdict::kTooFew, {}};
  const absl::Time enough_at = present.front().since + policy.wait;
  if (present.size() < policy.workers_max && now < enough_at) {
    return {StartVerdict::kWaiting, {}, enough_at};
  }
  if (present.size() > policy.workers_max) present.resize(policy.workers_max);
  StartDecision decision{StartVerdict::kStart, {}};
  for (const Candidate& candidate : present) decision.members.push_back(candidate.name);
  std::sort(decision.members.begin(), decision.members.end());
  return decision;
}

}  // namespace rondo::server
