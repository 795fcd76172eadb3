// A worker's door for its peers: one listening socket for the life of the process, used by group
// after group.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_TCP_LISTENER_H_
#define RONDO_WORKER_COLLECTIVES_TCP_TCP_LISTENER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/collectives/tcp/socket_address.h"

namespace rondo {

struct ListenSpec {
  // Numeric IPv4 or IPv6 address of the interface to listen on; empty: all of them.
  std::string bind_address = {};
  // Ports tried in order, both ends included. 0, 0: the system picks one, which is then kept and
  // advertised (S57).
  uint16_t port_first = 0;
  uint16_t port_last = 0;
  // Host name or numeric address that peers dial instead of the bound one (behind NAT, a chosen
  // network: S27, S60); empty: the bound address, or those of all interfaces that are up (loopback
  // only when there is no other).
  std::string advertised_host = {};
};

class TcpListener {
 public:
  // Errors: InvalidArgument (an address that cannot be read, an empty range), Unavailable (no port
  // of the range is free, the address is not of this machine, the advertised name is not known).
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(const ListenSpec& spec);

  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // The opaque blob of the Endpoint message: where peers find this listener.
  std::string Endpoint() const;
  const std::vector<SocketAddress>& addresses() const { return addresses_; }
  uint16_t port() const { return port_; }
  int fd() const { return fd_; }

 private:
  TcpListener(int fd, uint16_t port, std::vector<SocketAddress> addresses);

  const int fd_;  // non-blocking, owned
  const uint16_t port_;
  const std::vector<SocketAddress> addresses_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_TCP_LISTENER_H_
