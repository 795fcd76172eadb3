// Pings on idle gRPC connections: one set of values for both sides, because a server closes the
// connection of a client that pings more often than it allows ("too_many_pings").
#ifndef RONDO_COMMON_KEEPALIVE_H_
#define RONDO_COMMON_KEEPALIVE_H_

#include <grpcpp/grpcpp.h>

namespace rondo {

struct Keepalive {
  int every_millis = 10'000;   // A ping after so long without data.
  int timeout_millis = 5'000;  // No answer for so long: the connection is dead.
};

inline void SetKeepalive(const Keepalive& keepalive, grpc::ChannelArguments* arguments) {
  arguments->SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive.every_millis);
  arguments->SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive.timeout_millis);
  arguments->SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments->SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // No limit.
}

inline void SetKeepalive(const Keepalive& keepalive, grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive.every_millis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive.timeout_millis);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Twice as often as our clients do is still fine.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              keepalive.every_millis / 2);
}

}  // namespace rondo

#endif  // RONDO_COMMON_KEEPALIVE_H_
