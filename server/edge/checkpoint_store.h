// Checkpoints on the coordinator's disk:
//
//   ROOT/step-N/params.safetensors, buffers.safetensors, local-WORKER.safetensors
//   ROOT/step-N/manifest.json    last: a folder without it is incomplete and never chosen
//
// (names: common/checkpoint_files; format: server/README.md)
// Each file is written under a temporary name, flushed, and renamed once its size and SHA-256 are
// what its sender announced. Nothing is ever written outside ROOT: names are made here, from
// checked parts.
#ifndef RONDO_SERVER_EDGE_CHECKPOINT_STORE_H_
#define RONDO_SERVER_EDGE_CHECKPOINT_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/edge/partial_store.h"
#include "server/edge/state_upload.h"

namespace rondo::server {

// Which file of which checkpoint. `worker` for local files only.
struct StateFileId {
  uint64_t step = 0;
  StateFile file = StateFile::kParameters;
  std::string worker;
};

// Threads: any; of two uploads of one file the last to finish counts.
class CheckpointStore {
 public:
  // `keep` >= 1: the newest complete checkpoints that Trim leaves. Deletes what an earlier
  // coordinator was writing when it died; the caller holds the state directory's lock.
  CheckpointStore(std::string root, std::string job_id, uint64_t keep);
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  // Errors: InvalidArgument for a worker's name or a hash that is none; FailedPrecondition when the
  // checkpoint is complete and the file differs; Unavailable when the folder cannot be made.
  absl::StatusOr<std::unique_ptr<StateUpload>> Begin(const StateFileId& id, uint64_t size,
                                                     const std::string& sha256);

  // No complete checkpoint here is another job's, or was made after a round that the journal, whose
  // newest order is `last_round`, knows nothing of: Trim would delete it. Errors:
  // FailedPrecondition names the checkpoint and the ways out.
  absl::Status CheckBelong(RoundId last_round) const;

  // All parts are here with the given size and hash: writes the manifest. What did not come by
  // Begin, because its worker wrote it to a shared folder, is read and hashed. Errors:
  // FailedPrecondition names the part that is missing or differs; Unavailable the disk's reason.
  absl::Status Complete(const CompleteCheckpoint& request);

  // The journal's newest checkpoint is that of step `newest`, 0: it has none. Deletes complete ones
  // of later steps, which the journal does not know or has undone, complete ones beyond `keep`, and
  // incomplete ones of earlier steps; nothing while the folder cannot be read.
  void Trim(uint64_t newest);

  // Deletes what workers have left on their way into a shared folder, but for these processes.
  void DropLeftovers(const std::vector<std::pair<std::string, Incarnation>>& alive);

  // What is left of it (checkpoint_inspection.h). Blocks on the disk.
  CheckpointFound Look(const LookForCheckpoint& request) const;

  // A file of a complete checkpoint; step 0: of the newest. Errors: NotFound says what there is, or
  // why it cannot be read just now; DataLoss names a damaged manifest.
  absl::StatusOr<StoredFile> Find(const StateFileId& id) const;

  PartialStore& partials() { return partials_; }

  // Steps of the complete checkpoints, ascending; none while the folder cannot be read.
  std::vector<uint64_t> CompleteSteps() const;

 private:
  std::string StepFolder(uint64_t step) const;
  absl::StatusOr<std::vector<uint64_t>> ListComplete() const;
  void Arrived(const StoredFile& file);
  absl::Status CheckPart(const std::string& path, const CompleteCheckpoint::Part& part)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Drop(uint64_t step) ABSL_LOCKS_EXCLUDED(mutex_);

  PartialStore partials_;
  const std::string root_;
  const std::string job_id_;
  const uint64_t keep_;
  absl::Mutex mutex_;
  std::map<std::string, StoredFile> arrived_ ABSL_GUARDED_BY(mutex_);  // By path.
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_CHECKPOINT_STORE_H_
