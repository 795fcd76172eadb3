// From the path of a job file to a job that can be frozen.
#ifndef RONDO_COMMON_JOB_LOAD_JOB_H_
#define RONDO_COMMON_JOB_LOAD_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/job/job_file.h"

namespace rondo {

// Reads and parses. The diagnostics are in the result; errors of this call are about the file
// itself: NotFound when it cannot be read. `workers`: as for ParseJob.
absl::StatusOr<ParsedJob> ReadJobFile(const std::string& path,
                                      std::optional<int64_t> workers = std::nullopt);

struct LoadedJob {
  v1::Job job;           // Resolved; `id` is empty.
  std::string warnings;  // Lines ready to be shown; may be empty.
};

// Reads, checks, and resolves with the data below `files_dir`. Errors: NotFound or InvalidArgument,
// with every diagnostic on a line of its own; all of them are exit code 2.
absl::StatusOr<LoadedJob> LoadJob(const std::string& path, const std::string& files_dir);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_LOAD_JOB_H_
