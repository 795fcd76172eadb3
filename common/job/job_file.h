// The job file: YAML to the typed job. common/job/README.md lists every key.
//
//   ASSIGN_OR_RETURN(LoadedJob loaded, LoadJob("digits.yaml", "deploy/jobs/digits"));   //
//   load_job.h
//
// or, step by step: ParseJob, then ReadDataSizes (data_size.h), then ResolveJob (resolve.h).
#ifndef RONDO_COMMON_JOB_JOB_FILE_H_
#define RONDO_COMMON_JOB_JOB_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/diagnostic.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo {

struct ParsedJob {
  // Complete but for `id` and `resolved`, if there is no error; else partly filled.
  v1::Job job;
  std::vector<Diagnostic> errors;
  // What works otherwise than the file seems to expect.
  std::vector<Diagnostic> warnings;
  // Where each key of the file stands, by its path ("schedule.peak").
  std::map<std::string, Position> positions;
};

// Reads and checks all that can be known without the data. Reports all errors at once. Any bytes
// are fine as input. `workers`, 1 to kJobWorkersMax, will be there at the start (--workers): min
// and max are stretched to it, or, where steps are counted in epochs of batch.per_worker, both set
// to it; the checks are made of what comes out. Threads: any.
ParsedJob ParseJob(std::string_view text, std::optional<int64_t> workers = std::nullopt);

// The paths of all keys that a job file may have, in the order of the documentation.
std::vector<std::string> KnownJobKeys();

// The id of a frozen job: NAME-0123456789abcdef.
std::string MakeJobId(std::string_view name, uint64_t random_bits);

// [a-z0-9-]{1,63}, no dash at either end.
bool IsValidJobName(std::string_view name);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_JOB_FILE_H_
