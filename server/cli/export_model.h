// The model of a run, out of a checkpoint.
#ifndef RONDO_SERVER_CLI_EXPORT_MODEL_H_
#define RONDO_SERVER_CLI_EXPORT_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace rondo::cli {

// Writes the parameters and buffers of the checkpoint of `step` (empty: the newest complete one) in
// `state_dir` to `out`, a safetensors file under the model's own names. Sizes and SHA-256 of the
// checkpoint's files are checked against its manifest first.
// Errors: InvalidArgument: no such checkpoint (the steps that are there are named), or `out` cannot
// be written; DataLoss: a file differs from the manifest.
absl::Status ExportModel(const std::string& state_dir, std::optional<uint64_t> step,
                         const std::string& out);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_EXPORT_MODEL_H_
