#include "server/core/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace rondo::server {
namespace {

HelloDecision Refused(RefuseReason reason, std::string text) {
  return {HelloVerdict::kRefuse, {}, reason, std::move(text)};
}

std::string_view NameOf(Device device) { return device == Device::kCuda ? "cuda" : "cpu"; }

// What is wrong with the worker itself, whoever else is there.
std::optional<HelloDecision> CheckKind(const HelloPolicy& policy, const std::string& job_id,
                                       const Hello& hello) {
  if (!IsValidWorkerName(hello.name) || !hello.incarnation || hello.dial == 0) {
    return Refused(RefuseReason::kName,
                   fmt::format("worker name '{}', incarnation {}, dial {}: a name is 1 to 63 of "
                               "A-Z a-z 0-9 . _ -, the numbers are not 0",
                               hello.name, hello.incarnation, hello.dial));
  }
  if (hello.protocol != kProtocolVersion) {
    return Refused(RefuseReason::kVersion,
                   fmt::format("worker '{}' speaks protocol {}, this coordinator {}: run the same "
                               "version of Rondo everywhere",
                               hello.name, hello.protocol, kProtocolVersion));
  }
  const std::string& other =
      hello.returning && !hello.returning->job_id.empty() ? hello.returning->job_id : job_id;
  if (!other.empty() && other != policy.job_id) {
    return Refused(RefuseReason::kOtherJob, fmt::format("worker '{}' belongs to job {}, this is {}",
                                                        hello.name, other, policy.job_id));
  }
  if (hello.device != policy.device) {
    return Refused(RefuseReason::kDevice,
                   fmt::format("worker '{}' trains on {}, this job on {}: a job has one kind of "
                               "device",
                               hello.name, NameOf(hello.device), NameOf(policy.device)));
  }
  if (!policy.torch_version.empty() && hello.torch_version != policy.torch_version) {
    return Refused(RefuseReason::kVersion,
                   fmt::format("worker '{}' has torch {}, the job's first worker has {}",
                               hello.name, hello.torch_version, policy.torch_version));
  }
  if (!policy.torch_version.empty() && hello.nccl_version != policy.nccl_version) {
    return Refused(RefuseReason::kVersion,
                   fmt::format("worker '{}' has NCCL {}, the job's first worker has {}", hello.name,
                               hello.nccl_version, policy.nccl_version));
  }
  return std::nullopt;
}

}  // namespace

absl::Time AwaitedUntil(const Worker& worker, absl::Time since, absl::Duration return_wait) {
  if (worker.gone() || worker.stream || worker.fell_silent) return absl::InfinitePast();
  return std::max(worker.broke, since) + return_wait;
}

Worker* Roster::Find(const std::string& name) {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : &it->second;
}

const Worker* Roster::Find(const std::string& name) const {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : &it->second;
}

Worker* Roster::Find(const std::string& name, Incarnation incarnation) {
  Worker* worker = Find(name);
  return worker != nullptr && worker->incarnation == incarnation ? worker : nullptr;
}

Worker* Roster::FindByStream(StreamId stream) {
  if (!stream) return nullptr;
  for (auto& [name, worker] : workers_) {
    if (worker.stream == stream) return &worker;
  }
  return nullptr;
}

Worker& Roster::Enter(const Hello& hello, absl::Time now) {
  Worker& worker = workers_[hello.name];
  worker = Worker{};
  worker.name = hello.name;
  worker.incarnation = hello.incarnation;
  worker.device = hello.device;
  worker.host = hello.host;
  worker.pid = hello.pid;
  worker.heard = now;
  return worker;
}

Worker& Roster::Expect(const Member& member, absl::Time now) {
  Worker& worker = workers_[member.name];
  worker = Worker{};
  worker.name = member.name;
  worker.incarnation = member.incarnation;
  worker.heard = worker.broke = worker.candidate_since = now;
  worker.standing = Standing::kPrepared;
  return worker;
}

uint64_t Roster::CountPlaces() const {
  return std::count_if(workers_.begin(), workers_.end(),
                       [](const auto& entry) { return !entry.second.gone(); });
}

void Roster::Forget(absl::Time now, const std::function<bool(const Worker&)>& needed) {
  using Entry = std::map<std::string, Worker>::iterator;
  std::vector<Entry> gone;
  for (auto it = workers_.begin(); it != workers_.end();) {
    const Entry entry = it++;
    const Worker& worker = entry->second;
    if (!worker.gone() || needed(worker)) continue;
    if (worker.gone_since + kGoneKeptFor < now) {
      workers_.erase(entry);
    } else {
      gone.push_back(entry);
    }
  }
  if (gone.size() <= kGoneKept) return;
  const auto kept = gone.begin() + static_cast<ptrdiff_t>(gone.size() - kGoneKept);
  std::nth_element(gone.begin(), kept, gone.end(), [](Entry a, Entry b) {
    return std::tie(a->second.gone_since, a->first) < std::tie(b->second.gone_since, b->first);
  });
  for (auto it = gone.begin(); it != kept; ++it) workers_.erase(*it);
}

HelloDecision DecideHello(const HelloPolicy& policy, const Roster& roster,
                          const std::string& job_id, const Hello& hello) {
  if (auto refused = CheckKind(policy, job_id, hello)) return *refused;
  const Worker* known = roster.Find(hello.name);
  if (known != nullptr && known->incarnation == hello.incarnation) {
    if (hello.dial <= known->dial) {
      return {HelloVerdict::kStale, {}, {}, "this worker has dialled again since"};
    }
    if (known->standing == Standing::kRefused) return Refused(known->refused, known->text);
    if (known->standing == Standing::kLeft) return {HelloVerdict::kLeft};
    if (known->standing != Standing::kLost) return {HelloVerdict::kWelcome};
  } else if (known != nullptr && known->stream && !known->gone()) {
    return {HelloVerdict::kWait,
            WaitReason::kNameInUse,
            {},
            fmt::format("another worker is here under the name '{}'; if it is dead its place is "
                        "free soon, else choose another name",
                        hello.name)};
  }
  if (policy.ended) return {HelloVerdict::kOver};
  const bool has_place = known != nullptr && !known->gone();
  if (!has_place && roster.CountPlaces() >= policy.workers_max) {
    return {HelloVerdict::kWait,
            WaitReason::kFull,
            {},
            policy.workers_max == 1
                ? "the only place (workers.max) is taken"
                : fmt::format("all {} places (workers.max) are taken", policy.workers_max)};
  }
  const bool replaces = known != nullptr && known->incarnation != hello.incarnation;
  return {replaces ? HelloVerdict::kReplaces : HelloVerdict::kWelcome};
}

}  // namespace rondo::server
