#include "worker/collectives/tcp/tcp_listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/status_macros.h"

namespace rondo {
namespace {

constexpr int kBacklog = 1024;

// A listening socket on `address`, or the error number, negated.
int OpenAt(const SocketAddress& address) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const int on = 1;
  const int off = 0;
  // A restarted worker gets its port back although old connections linger in TIME_WAIT.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.family() == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd, address.system(), address.length()) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

// The first port of the range that is free; `last_error` says why the last one was not.
int OpenInRange(const SocketAddress& host, const ListenSpec& spec, int* last_error) {
  for (int port = spec.port_first; port <= spec.port_last; ++port) {
    const int fd = OpenAt(host.WithPort(static_cast<uint16_t>(port)));
    if (fd >= 0) return fd;
    *last_error = -fd;
  }
  return -1;
}

absl::StatusOr<int> OpenListener(const ListenSpec& spec) {
  // All interfaces: one IPv6 socket takes both families; a kernel without IPv6 gets an IPv4 one.
  const bool all = spec.bind_address.empty();
  const std::vector<std::string> hosts =
      all ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector<std::string>{spec.bind_address};
  int error = 0;
  for (const std::string& host : hosts) {
    ASSIGN_OR_RETURN(const SocketAddress address, SocketAddress::Parse(host, 0));
    const int fd = OpenInRange(address, spec, &error);
    if (fd >= 0) return fd;
  }
  return absl::UnavailableError(fmt::format(
      "cannot listen on {}, ports {} to {}: {}; give another address or a range with a free port",
      all ? "any address" : spec.bind_address, spec.port_first, spec.port_last,
      std::strerror(error)));
}

absl::StatusOr<std::vector<SocketAddress>> AdvertisedAddresses(const ListenSpec& spec,
                                                               uint16_t port) {
  if (!spec.advertised_host.empty()) return ResolveHost(spec.advertised_host, port);
  if (spec.bind_address.empty()) return InterfaceAddresses(port);
  ASSIGN_OR_RETURN(const SocketAddress bound, SocketAddress::Parse(spec.bind_address, port));
  if (spec.bind_address == "0.0.0.0" || spec.bind_address == "::") return InterfaceAddresses(port);
  return std::vector<SocketAddress>{bound};
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(const ListenSpec& spec) {
  if (spec.port_first > spec.port_last || (spec.port_first == 0 && spec.port_last != 0)) {
    return absl::InvalidArgumentError(fmt::format(
        "ports {} to {}: the first must be at most the last; 0 to 0 lets the system pick",
        spec.port_first, spec.port_last));
  }
  ASSIGN_OR_RETURN(const int fd, OpenListener(spec));
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  const auto address = SocketAddress::FromSystem(reinterpret_cast<sockaddr*>(&bound), length);
  absl::StatusOr<std::vector<SocketAddress>> advertised =
      address.ok() ? AdvertisedAddresses(spec, address->port()) : address.status();
  if (!advertised.ok()) {
    close(fd);
    return advertised.status();
  }
  return std::unique_ptr<TcpListener>(new TcpListener(fd, address->port(), *std::move(advertised)));
}

TcpListener::TcpListener(int fd, uint16_t port, std::vector<SocketAddress> addresses)
    : fd_(fd), port_(port), addresses_(std::move(addresses)) {}

TcpListener::~TcpListener() { close(fd_); }

std::string TcpListener::Endpoint() const { return EncodeEndpoint(addresses_); }

}  // namespace rondo
