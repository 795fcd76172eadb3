// From the flags to the job that is frozen into the journal.
#ifndef RONDO_SERVER_EDGE_FROZEN_JOB_H_
#define RONDO_SERVER_EDGE_FROZEN_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/edge/same_job.h"

namespace rondo::server {

struct JobToFreeze {
  v1::Job job;           // Resolved; without an id.
  std::string warnings;  // Lines for people; may be empty.
  GivenWorkers given;
};

// Reads the job file and the headers of its data. `workers`: as for ParseJob. Errors: NotFound,
// InvalidArgument, with all diagnostics.
absl::StatusOr<JobToFreeze> LoadJobToFreeze(const std::string& job_file,
                                            const std::string& files_dir,
                                            std::optional<uint64_t> workers);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_FROZEN_JOB_H_
