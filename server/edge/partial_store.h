// Partials on the coordinator's disk: what each member has in the middle of a long local round
// (`checkpoint.partials`).
//
//   ROOT/partials/round-R/step-S/partial-WORKER.safetensors
//   ROOT/partials/round-R/step-S/partial-WORKER.sha256    after it: "SIZE SHA256 JOB R S WORKER"
//
// One whose hash file names another job, round, step or worker was moved there, and is not
// believed. A step is complete once every member's pair is there. Then those of earlier steps, and
// of earlier rounds, are deleted: at most two or so of a round are there at a time.
#ifndef RONDO_SERVER_EDGE_PARTIAL_STORE_H_
#define RONDO_SERVER_EDGE_PARTIAL_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  PartialStore(std::string root, std::string job_id)
      : root_(std::move(root)), job_id_(std::move(job_id)) {}
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

  // Of the newest round that has it. Errors: NotFound; DataLoss when its hash file is damaged, or
  // is that of another partial.
  absl::StatusOr<StoredFile> Find(uint64_t step, const std::string& worker) const;

 private:
  std::string Folder(uint64_t round, uint64_t step) const;
  absl::Status Arrived(const PartialFileId& id, const StoredFile& file);
  absl::StatusOr<StoredFile> Read(uint64_t round, uint64_t step, const std::string& worker) const;

  const std::string root_;
  const std::string job_id_;
  absl::Mutex mutex_;  // Held while folders are counted and deleted.
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_PARTIAL_STORE_H_
