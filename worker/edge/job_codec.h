// The frozen Job, as the coordinator sends it, in the runtime's words.
#ifndef RONDO_WORKER_EDGE_JOB_CODEC_H_
#define RONDO_WORKER_EDGE_JOB_CODEC_H_

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "worker/runtime/train_spec.h"

namespace rondo::worker {

// InvalidArgument names a field that is missing, a value that this version does not know, or a
// feature that this build is without.
absl::StatusOr<TrainSpec> DecodeJob(const v1::Job& job);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_JOB_CODEC_H_
