// The files of a checkpoint that a member hands in, as safetensors (worker/runtime/state_tensors).
// Metadata of all: round, step; of the local file: step_count. After a rewind they are read back
// (rule 21).
#ifndef RONDO_WORKER_RUNTIME_STATE_FILES_H_
#define RONDO_WORKER_RUNTIME_STATE_FILES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/runtime/member_state.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

// Writes each file, then hands it to `sink`; `stop` as StateSink::Put. Errors: Unavailable, naming
// the file; those of Put.
absl::StatusOr<std::vector<SavedFile>> SaveStateFiles(const SaveNow& what, StateSink* sink,
                                                      const StopCheck& stop, MemberState* state);

// Working parameters and buffers become those of the checkpoint of `step`. What `state` held is
// lost, also when this fails. Errors as LoadStateFiles.
absl::Status LoadValues(uint64_t step, StateSource* source, const StopCheck& stop,
                        MemberState* state);

// Working parameters and buffers become those of the checkpoint of `step`; moments, step count and
// residual those of this worker's local file in it, or zero when it has none. What `state` held is
// lost, also when this fails. `stop` as StateSource::Get. Errors: DataLoss or NotFound: the file
// named is missing, damaged or does not fit the model; else those of Get.
absl::Status LoadStateFiles(uint64_t step, StateSource* source, const StopCheck& stop,
                            MemberState* state);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_STATE_FILES_H_
