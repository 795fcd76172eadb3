// Between the core's plain messages and proto/rondo/v1/training.proto.
//
// What comes from workers is checked here, once, so that the core can believe it: enum values that
// are 0 or unknown, missing required fields, numbers that are not finite and sizes beyond any use
// are refused, and the error names message and field. Losses and norms may be infinite or NaN where
// the message itself says that the worker is not finite (and are read as 0 then); an evaluation's
// and a heartbeat's loss may always.
#ifndef RONDO_SERVER_EDGE_TRAINING_CODEC_H_
#define RONDO_SERVER_EDGE_TRAINING_CODEC_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/core/messages.h"

namespace rondo::server {

// Learning rates that an Order carries itself; the rest follows in Rates messages of at most
// kRatesPerMessage.
inline constexpr size_t kRatesInOrder = 8192;
inline constexpr size_t kRatesPerMessage = 65536;

// Errors: InvalidArgument, "Hello.device: ..." and the like.
absl::StatusOr<WorkerMessage> ParseWorkerMessage(const v1::WorkerMessage& message);

// An Order becomes Order and Rates; every other message one. Of Welcome, job, files and limits are
// left to the caller.
std::vector<v1::CoordinatorMessage> EncodeCoordinatorMessage(const CoordinatorMessage& message);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_TRAINING_CODEC_H_
