// The value of --listen.
#ifndef RONDO_SERVER_EDGE_LISTEN_ADDRESS_H_
#define RONDO_SERVER_EDGE_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace rondo::server {

struct ListenAddress {
  std::string host;       // Without brackets.
  int port = 0;           // 0: the system chooses.
  bool loopback = false;  // Only processes on this machine can reach it.

  // "127.0.0.1:7000", "[::1]:7000".
  std::string Text() const;
};

// "HOST:PORT", "[IPV6]:PORT". Errors: InvalidArgument says what is allowed.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_LISTEN_ADDRESS_H_
