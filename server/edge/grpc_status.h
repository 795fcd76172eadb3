// absl::Status to grpc::Status: the codes have the same numbers.
#ifndef RONDO_SERVER_EDGE_GRPC_STATUS_H_
#define RONDO_SERVER_EDGE_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"

namespace rondo::server {

inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_GRPC_STATUS_H_
