// Between the wire (proto/rondo/v1/training.proto) and the core's plain values.
#ifndef RONDO_WORKER_EDGE_TRAINING_CODEC_H_
#define RONDO_WORKER_EDGE_TRAINING_CODEC_H_

#include "absl/status/statusor.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// Every field that is not optional must be set (a number that must not be 0 is not), and every enum
// value known: else InvalidArgument names message, field and value. Welcome's job stays on the wire
// side: job_codec reads it.
absl::StatusOr<CoordinatorMessage> DecodeCoordinatorMessage(const v1::CoordinatorMessage& message);

v1::WorkerMessage EncodeWorkerMessage(const WorkerMessage& message);

v1::StateFile EncodeStateFile(StateFile file);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_TRAINING_CODEC_H_
