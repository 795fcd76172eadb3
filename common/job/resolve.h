// What follows from the job file and the sizes of the data: T and the like.
#ifndef RONDO_COMMON_JOB_RESOLVE_H_
#define RONDO_COMMON_JOB_RESOLVE_H_

#include "common/job/data_size.h"
#include "common/job/job_file.h"

namespace rondo {

// Fills job.resolved of a job without errors; adds errors for what cannot be (fewer samples than a
// step takes, a first layer of another width, T out of range, a decay longer than the run).
// With sizes not known (samples 0), `epochs` and all that counts in epochs is an error.
void ResolveJob(const DataSizes& sizes, ParsedJob* parsed);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_RESOLVE_H_
