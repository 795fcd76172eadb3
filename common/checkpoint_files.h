// Names in a folder of checkpoints, for coordinator and workers alike:
//
//   ROOT/step-N/params.safetensors, buffers.safetensors, local-WORKER.safetensors, manifest.json
//
//   ROOT/incoming/WORKER-INCARNATION/...   what a worker is about to put into a step's folder
//
// ROOT is STATE/checkpoints of the coordinator or, with `checkpoint.shared_dir`, a folder of this
// job in it, to which all processes write themselves.
#ifndef RONDO_COMMON_CHECKPOINT_FILES_H_
#define RONDO_COMMON_CHECKPOINT_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"

namespace rondo {

inline constexpr std::string_view kStepFolderPrefix = "step-";
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kIncomingFolder = "incoming";

// Of a member's state: kPartial is what it has in the middle of a long round.
enum class StateFile { kParameters, kBuffers, kLocal, kPartial };

// "params.safetensors", "buffers.safetensors", "local-WORKER.safetensors",
// "partial-WORKER.safetensors". `worker` is a valid worker's name (common/ids).
std::string StateFileName(StateFile file, std::string_view worker);
std::string StepFolder(std::string_view root, uint64_t step);
// The name within ROOT/incoming of the folder of this process alone: "w1-0123456789abcdef".
std::string IncomingName(std::string_view worker, Incarnation incarnation);

// ROOT of the job with this id. `shared_dir` as in the job file: absolute, or below `files_dir`,
// the folder that the process was given with --files.
std::string SharedCheckpointRoot(std::string_view files_dir, std::string_view shared_dir,
                                 std::string_view job_id);

}  // namespace rondo

#endif  // RONDO_COMMON_CHECKPOINT_FILES_H_
