// From the coordinator's Mesh message to a working group over TCP: one connection for each pair of
// ranks.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_TCP_MESH_H_
#define RONDO_WORKER_COLLECTIVES_TCP_TCP_MESH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/tcp_listener.h"

namespace rondo {

struct TcpOptions {
  // All-reduce of at most this many bytes goes by recursive doubling, above by the ring. The same
  // on every rank.
  int64_t doubling_bytes_max = 64 << 10;
  // A peer that has connected and does not finish its hello within this is dropped, and dialled or
  // awaited again.
  absl::Duration handshake_limit = absl::Seconds(2);
};

struct MeshSpec {
  int rank = 0;
  // TcpListener::Endpoint of each rank, in rank order, the own one included.
  std::vector<std::string> endpoints = {};
  std::string token = {};  // 16 random bytes of the coordinator, for this group only
  uint64_t job_hash = 0;   // the same for all workers of the job
  uint64_t group = 0;      // the group's number
  TcpOptions options = {};
};

// Dials the higher ranks and lets the lower ones in, until each pair has a connection on which both
// sides have shown token, job, group and rank. Refused and failed connects are retried; strangers
// are dropped and do no harm. A group of one comes back at once and has no connection. Threads:
// blocks the caller, who becomes the communicator's owner thread; abort->Set() from any thread ends
// the wait. Ownership: borrows `listener` for the call; the communicator keeps `abort`. Errors:
// InvalidArgument (spec), DeadlineExceeded (names the missing ranks and the last failure of each),
// Aborted.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectMesh(const TcpListener& listener,
                                                          const MeshSpec& spec,
                                                          absl::Duration timeout,
                                                          std::shared_ptr<AbortFlag> abort);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_TCP_MESH_H_
