// The GPU backend's door. Chosen at link time: `nccl` in a CUDA build, `no_nccl` in a CPU build,
// where both functions return FailedPrecondition and say so.
#ifndef RONDO_WORKER_COLLECTIVES_NCCL_H_
#define RONDO_WORKER_COLLECTIVES_NCCL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// Rank 0 makes it and puts it into its Endpoint message; the coordinator passes it on in Mesh.
absl::StatusOr<std::string> NewNcclUniqueId();

struct NcclSpec {
  int rank = 0;
  int size = 1;
  std::string unique_id = {};
  Device device = {};  // its stream is borrowed and outlives the communicator
};
absl::StatusOr<std::unique_ptr<Communicator>> ConnectNccl(const NcclSpec& spec,
                                                          absl::Duration timeout);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_NCCL_H_
