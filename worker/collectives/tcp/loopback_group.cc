#include "worker/collectives/tcp/loopback_group.h"

#include <thread>
#include <utility>

#include "worker/collectives/abort_flag.h"

namespace rondo {
namespace {

// Far above what any of it takes: a failed test ends by it, a good one never meets it.
constexpr absl::Duration kConnectLimit = absl::Seconds(60);

void InThreads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

std::string LoopbackToken() { return "0123456789abcdef"; }

absl::StatusOr<std::unique_ptr<LoopbackGroup>> LoopbackGroup::Make(const LoopbackSpec& spec) {
  std::vector<std::unique_ptr<TcpListener>> listeners;
  MeshSpec mesh;
  mesh.token = LoopbackToken();
  mesh.job_hash = 1;
  mesh.group = 1;
  mesh.options = spec.options;
  for (int rank = 0; rank < spec.ranks; ++rank) {
    auto listener = TcpListener::Listen({.bind_address = spec.bind_address});
    if (!listener.ok()) return listener.status();
    mesh.endpoints.push_back((*listener)->Endpoint());
    listeners.push_back(*std::move(listener));
  }
  std::vector<absl::StatusOr<std::unique_ptr<Communicator>>> made(spec.ranks);
  InThreads(spec.ranks, [&](int rank) {
    MeshSpec mine = mesh;
    mine.rank = rank;
    made[rank] = ConnectMesh(*listeners[rank], mine, kConnectLimit, std::make_shared<AbortFlag>());
  });
  auto group = std::make_unique<LoopbackGroup>();
  for (auto& member : made) {
    if (!member.ok()) return member.status();
    group->members_.push_back(*std::move(member));
  }
  return group;
}

std::vector<absl::Status> LoopbackGroup::Run(
    const std::function<absl::Status(Communicator&)>& body) {
  std::vector<absl::Status> statuses(members_.size());
  InThreads(size(), [&](int rank) {
    if (members_[rank] != nullptr) statuses[rank] = body(*members_[rank]);
  });
  return statuses;
}

}  // namespace rondo
