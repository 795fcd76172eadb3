// Partials on the coordinator's disk: what each member has in the middle of a long local round
// (`checkpoint.partials`).
//
//   ROOT/partials/round-R/step-S/partial-WORKER.safetensors
//   ROOT/partials/round-R/step-S/partial-WORKER.sha256    after it: "SIZE SHA256"
//
// A step is complete once every member's pair is there. Then those of earlier steps, and of earlier
// rounds, are deleted: at most two or so of a round are there at a time.
#ifndef RONDO_SERVER_EDGE_PARTIAL_STORE_H_
#define RONDO_SERVER_EDGE_PARTIAL_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "server/edge/state_upload.h"

namespace rondo::server {

struct PartialFileId {
  RoundId round;
  uint64_t step = 0;
  std::string worker;
  uint64_t members = 0;  // Of the round's order.
};

// Threads: any.
class PartialStore {
 public:
  explicit PartialStore(std::string root) : root_(std::move(root)) {}
  PartialStore(const PartialStore&) = delete;
  PartialStore& operator=(const PartialStore&) = delete;

  // Errors: InvalidArgument for a worker's name or a hash that is none, or a number that is 0;
  // Unavailable when the folder cannot be made.
  absl::StatusOr<std::unique_ptr<StateUpload>> Begin(const PartialFileId& id, uint64_t size,
                                                     const std::string& sha256);

  // Those of this round and of earlier ones are not wanted any more.
  void DropThrough(RoundId round);

  // The newest step of the round for which all `workers` have one; none: there is no such.
  std::optional<uint64_t> NewestOf(RoundId round, const std::vector<std::string>& workers) const;

  // Of the newest round that has it. Errors: NotFound; DataLoss when its hash cannot be read.
  absl::StatusOr<StoredFile> Find(uint64_t step, const std::string& worker) const;

 private:
  std::string Folder(uint64_t round, uint64_t step) const;
  absl::Status Arrived(const PartialFileId& id, const StoredFile& file);

  const std::string root_;
  absl::Mutex mutex_;  // Held while folders are counted and deleted.
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_PARTIAL_STORE_H_
