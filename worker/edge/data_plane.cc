#include "worker/edge/data_plane.h"

#include "common/mix64.h"
#include "common/status_macros.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo::worker {
namespace {

uint64_t JobHash(const std::string& job_id) {
  uint64_t hash = 0;
  for (const char c : job_id) hash = Mix64(hash + static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpGroups>> TcpGroups::Create(const ListenSpec& spec) {
  ASSIGN_OR_RETURN(std::unique_ptr<TcpListener> listener, TcpListener::Listen(spec));
  return std::unique_ptr<TcpGroups>(new TcpGroups(std::move(listener)));
}

absl::StatusOr<std::string> TcpGroups::Listen() { return listener_->Endpoint(); }

absl::StatusOr<std::unique_ptr<Communicator>> TcpGroups::Connect(const ConnectSpec& spec,
                                                                 absl::Duration limit,
                                                                 std::shared_ptr<AbortFlag> abort) {
  MeshSpec mesh;
  mesh.rank = static_cast<int>(spec.rank);
  mesh.endpoints = spec.blobs;
  mesh.token = spec.token;
  mesh.job_hash = JobHash(spec.job_id);
  mesh.group = spec.group.value;
  return ConnectMesh(*listener_, mesh, limit, std::move(abort));
}

bool TcpGroups::OnlyLoopback() const {
  for (const SocketAddress& address : listener_->addresses()) {
    if (!address.IsLoopback()) return false;
  }
  return true;
}

std::string TcpGroups::Addresses() const {
  std::string text;
  for (const SocketAddress& address : listener_->addresses()) {
    text += (text.empty() ? "" : " ") + address.ToString();
  }
  return text;
}

}  // namespace rondo::worker
