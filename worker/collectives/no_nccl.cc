#include "absl/status/status.h"
#include "worker/collectives/nccl.h"

namespace rondo {
namespace {

absl::Status NotInThisBuild() {
  return absl::FailedPreconditionError(
      "this program was built without NCCL (a CPU build): workers on GPUs need a build with CUDA; "
      "on CPUs use the tcp backend");
}

}  // namespace

absl::StatusOr<std::string> NewNcclUniqueId() { return NotInThisBuild(); }

absl::StatusOr<std::unique_ptr<Communicator>> ConnectNccl(const NcclSpec&, absl::Duration) {
  return NotInThisBuild();
}

}  // namespace rondo
