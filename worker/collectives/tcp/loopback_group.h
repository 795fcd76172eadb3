// For tests: a whole group over loopback in one process, each rank a thread.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_LOOPBACK_GROUP_H_
#define RONDO_WORKER_COLLECTIVES_TCP_LOOPBACK_GROUP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {

struct LoopbackSpec {
  int ranks = 2;
  TcpOptions options = {};
  std::string bind_address = "127.0.0.1";
};

// The 16 bytes that LoopbackGroup uses.
std::string LoopbackToken();

class LoopbackGroup {
 public:
  // All ranks connected, or the first error.
  static absl::StatusOr<std::unique_ptr<LoopbackGroup>> Make(const LoopbackSpec& spec);

  int size() const { return static_cast<int>(members_.size()); }
  Communicator& member(int rank) { return *members_[rank]; }
  // Leaves the group: its connections close.
  void Drop(int rank) { members_[rank].reset(); }

  // Calls `body` for each rank, each in its thread; the statuses in rank order.
  std::vector<absl::Status> Run(const std::function<absl::Status(Communicator&)>& body);

 private:
  std::vector<std::unique_ptr<Communicator>> members_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_LOOPBACK_GROUP_H_
