// A member's state as the tensors of a safetensors file, and back:
//   parameters  under the model's own names
//   buffers     float (F32) and integer (I64) buffers under the model's own names
//   local       moment.0, moment.1, ... [n] each
//   partial     parameters and buffers as "state.NAME", and the moments
// Local and partial have the member's residual besides (worker/runtime/feedback_file).
#ifndef RONDO_WORKER_RUNTIME_STATE_TENSORS_H_
#define RONDO_WORKER_RUNTIME_STATE_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/safetensors.h"
#include "worker/core/messages.h"
#include "worker/runtime/member_state.h"

namespace rondo::worker {

// They point into the working values, which are `state`'s. Without the residual.
std::vector<SafetensorsTensor> TensorsOf(StateFile file, MemberState* state);

// Writes the file, the residual among it; `metadata` comes before the residual's own. Errors: as
// WriteSafetensors.
absl::Status WriteTensors(const std::string& path, StateFile file,
                          std::map<std::string, std::string> metadata, MemberState* state);

// Fills the memory of TensorsOf from the file at `path`; its header has the metadata. Of local and
// partial files the residual, too: zero when the file has none. Errors: DataLoss when the file does
// not hold just these tensors; else as ReadSafetensorsHeader.
absl::StatusOr<SafetensorsHeader> ReadTensors(const std::string& path, StateFile file,
                                              MemberState* state);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_STATE_TENSORS_H_
