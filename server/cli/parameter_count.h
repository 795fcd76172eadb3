// How many parameters a job's model has, as far as that can be told without PyTorch.
#ifndef RONDO_SERVER_CLI_PARAMETER_COUNT_H_
#define RONDO_SERVER_CLI_PARAMETER_COUNT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo::cli {

// From the built-in model's layers (convnet: needs the resolved shape of a sample, and is taken to
// have ten classes, which no header says), else from the
// header of the init file below `files_dir`. nullopt: a TorchScript model without init file.
// Errors: those of reading the init file.
absl::StatusOr<std::optional<int64_t>> CountParameters(const v1::Job& job,
                                                       const std::string& files_dir);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PARAMETER_COUNT_H_
