// Writes checkpoint files to the folder that all processes share (`checkpoint.shared_dir`).
#ifndef RONDO_WORKER_EDGE_SHARED_FOLDER_SINK_H_
#define RONDO_WORKER_EDGE_SHARED_FOLDER_SINK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "worker/core/messages.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

struct SharedFolderOptions {
  std::string worker;
  Incarnation incarnation;
  std::function<std::string()> root;  // Of this job's checkpoints (common/checkpoint_files).
};

// Threads: one at a time. A file appears under its name at once and whole; the coordinator writes
// the manifest once it has looked at all of them.
class SharedFolderSink final : public StateSink {
 public:
  explicit SharedFolderSink(SharedFolderOptions options) : options_(std::move(options)) {}

  // In the shared folder, so that Put only renames.
  std::string TemporaryPath(StateFile file) override;
  absl::StatusOr<SavedFile> Put(uint64_t step, StateFile file, const std::string& path,
                                const StopCheck& stop) override;
  // Unimplemented: partials go through the coordinator, which knows when all are there.
  absl::Status PutPartial(const PartialId& id, const std::string& path,
                          const StopCheck& stop) override;

 private:
  const SharedFolderOptions options_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_SHARED_FOLDER_SINK_H_
