// A model's tensors as a safetensors file under their own names: init files, exports, checkpoints.
#ifndef RONDO_WORKER_ENGINE_STATE_FILE_H_
#define RONDO_WORKER_ENGINE_STATE_FILE_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "worker/engine/layout.h"

namespace rondo {

// Host memory of a layout's three flat vectors, borrowed. Sizes are the layout's.
struct StateSpans {
  std::span<float> parameters = {};
  std::span<float> float_buffers = {};
  std::span<int64_t> integer_buffers = {};
};

// Writes all tensors, float32 as F32 and integers as I64, with `metadata`, as WriteSafetensors
// does.
absl::Status SaveState(const std::string& path, const Layout& layout, const StateSpans& state,
                       const std::map<std::string, std::string>& metadata = {});

// Fills `state`. Every parameter must be in the file; a buffer that is not keeps its value.
// InvalidArgument: one message that names each missing, extra, misshapen and mistyped tensor (the
// first ten); nothing is written then. Other errors as ReadSafetensorsHeader.
absl::Status LoadState(const std::string& path, const Layout& layout, const StateSpans& state);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_STATE_FILE_H_
