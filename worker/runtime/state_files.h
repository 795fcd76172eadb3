// The files of a checkpoint that a member hands in, as safetensors:
//   parameters  under the model's own names
//   buffers     float (F32) and integer (I64) buffers under the model's own names
//   local       moment.0, moment.1, ... [n] each; metadata: step_count
// Metadata of all: round, step.
#ifndef RONDO_WORKER_RUNTIME_STATE_FILES_H_
#define RONDO_WORKER_RUNTIME_STATE_FILES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/runtime/member_state.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

// Writes each file, then hands it to `sink`. Errors: Unavailable, naming the file.
absl::StatusOr<std::vector<SavedFile>> SaveStateFiles(const SaveNow& what, StateSink* sink,
                                                      MemberState* state);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_STATE_FILES_H_
