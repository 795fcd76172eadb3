// Numeric socket addresses, and the text that carries a list of them from worker to worker.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_SOCKET_ADDRESS_H_
#define RONDO_WORKER_COLLECTIVES_TCP_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace rondo {

// IPv4 or IPv6, with port. A value.
class SocketAddress {
 public:
  // From the system's form. InvalidArgument for another family.
  static absl::StatusOr<SocketAddress> FromSystem(const sockaddr* address, socklen_t length);
  // "10.0.0.1" or "fd00::1". InvalidArgument for anything else (names are not looked up).
  static absl::StatusOr<SocketAddress> Parse(std::string_view host, uint16_t port);

  int family() const { return storage_.ss_family; }
  bool IsLoopback() const;
  bool IsLinkLocal() const;
  uint16_t port() const;
  SocketAddress WithPort(uint16_t port) const;
  // "10.0.0.1:4000" or "[fd00::1]:4000".
  std::string ToString() const;

  const sockaddr* system() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.ToString() == b.ToString();
  }

 private:
  SocketAddress() = default;
  sockaddr_storage storage_ = {};
  socklen_t length_ = 0;
};

// "rondo-tcp/1 10.0.0.1:4000 [fd00::1]:4000": the Endpoint message's blob. At most 16 addresses,
// best first.
std::string EncodeEndpoint(const std::vector<SocketAddress>& addresses);
// InvalidArgument says what is wrong with the blob.
absl::StatusOr<std::vector<SocketAddress>> DecodeEndpoint(std::string_view blob);

// Looks a host name up; blocks as long as the system's resolver does. Unavailable if it is not
// known.
absl::StatusOr<std::vector<SocketAddress>> ResolveHost(const std::string& host, uint16_t port);

// Addresses of all interfaces that are up, less link-local ones; loopback only when there is no
// other.
absl::StatusOr<std::vector<SocketAddress>> InterfaceAddresses(uint16_t port);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_SOCKET_ADDRESS_H_
