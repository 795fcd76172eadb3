// Whether a state directory's run is of the job that is to go on, and if not, what the user has to
// change: the job file, or --workers.
#ifndef RONDO_SERVER_EDGE_SAME_JOB_H_
#define RONDO_SERVER_EDGE_SAME_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo::server {

// --workers N, which lowers workers.min or raises workers.max to N.
struct GivenWorkers {
  std::optional<uint64_t> count = {};  // N; absent: not given.
  v1::Job without = {};                // What the job file alone gives.
};

// `journal`: the path of the run's journal; `frozen`: the job in it; `job`: what file and flag give
// now. Errors: InvalidArgument names the keys that differ, or the flag.
absl::Status CheckSameJob(const std::string& journal, const v1::Job& frozen, const v1::Job& job,
                          const GivenWorkers& given);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_SAME_JOB_H_
