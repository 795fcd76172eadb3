// Groups over TCP: the listening socket of this process, and the meshes that are built on it.
#ifndef RONDO_WORKER_EDGE_DATA_PLANE_H_
#define RONDO_WORKER_EDGE_DATA_PLANE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

class TcpGroups final : public GroupMaker {
 public:
  // Listens at once and for the life of the process. Errors as TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<TcpGroups>> Create(const ListenSpec& spec);

  absl::StatusOr<std::string> Listen() override;
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const ConnectSpec& spec,
                                                        absl::Duration limit,
                                                        std::shared_ptr<AbortFlag> abort) override;
  // Peers on other hosts cannot reach this process.
  bool OnlyLoopback() const;
  // "10.0.0.1:4000 [fd00::1]:4000", for the log.
  std::string Addresses() const;

 private:
  explicit TcpGroups(std::unique_ptr<TcpListener> listener) : listener_(std::move(listener)) {}

  const std::unique_ptr<TcpListener> listener_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_DATA_PLANE_H_
