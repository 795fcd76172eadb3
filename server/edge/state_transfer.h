// PutState and GetState: one state file over a stream of chunks.
#ifndef RONDO_SERVER_EDGE_STATE_TRANSFER_H_
#define RONDO_SERVER_EDGE_STATE_TRANSFER_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>

#include <string>

#include "absl/status/status.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/edge/checkpoint_store.h"

namespace rondo::server {

// Blocks until the stream ends and the file is on disk. Errors: InvalidArgument (a header that is
// missing, twice or wrong; a chunk above 1 MiB), FailedPrecondition (another job), DataLoss (size
// or hash differ), Internal (the disk: unlike Unavailable no reason to try again at once).
absl::Status ReceiveStateFile(const std::string& job_id, CheckpointStore* store,
                              grpc::ServerReader<v1::StateChunk>* reader, v1::PutStateReply* reply);

// Blocks until all chunks are sent. Errors: NotFound, InvalidArgument, FailedPrecondition,
// DataLoss.
absl::Status SendStateFile(const std::string& job_id, CheckpointStore* store,
                           const v1::GetStateRequest& request,
                           grpc::ServerWriter<v1::StateChunk>* writer);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_STATE_TRANSFER_H_
