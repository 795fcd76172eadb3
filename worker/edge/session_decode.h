// The part of training_codec that reads what a stream begins and ends with.
#ifndef RONDO_WORKER_EDGE_SESSION_DECODE_H_
#define RONDO_WORKER_EDGE_SESSION_DECODE_H_

#include "absl/status/statusor.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// InvalidArgument as DecodeCoordinatorMessage.
absl::StatusOr<CoordinatorBody> DecodeWelcome(const v1::Welcome& in);
absl::StatusOr<CoordinatorBody> DecodeWait(const v1::Wait& in);
absl::StatusOr<CoordinatorBody> DecodeRefuse(const v1::Refuse& in);
absl::StatusOr<CoordinatorBody> DecodeGoodbye(const v1::Goodbye& in);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_SESSION_DECODE_H_
