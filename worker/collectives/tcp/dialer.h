// The connection to one higher rank, while a mesh is built: dials its addresses in turn until one
// of them answers as that rank of this group. Does not block: the mesh polls and calls.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_DIALER_H_
#define RONDO_WORKER_COLLECTIVES_TCP_DIALER_H_

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/hello.h"
#include "worker/collectives/tcp/socket_address.h"

namespace rondo {

class Dialer {
 public:
  // `me`: sender, receiver and group size of the hello.
  Dialer(const GroupStamp& stamp, const Hello& me, std::vector<SocketAddress> addresses,
         absl::Duration handshake_limit);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  int peer() const { return me_.receiver; }
  // What to poll for; fd is -1 while it waits to dial again.
  pollfd Poll() const;
  // When Advance has to be called even if nothing is ready.
  Deadline due() const { return due_; }
  // Goes on after poll said `events` (0: only time has passed). The finished connection, or null.
  std::unique_ptr<Stream> Advance(int16_t events);

  // "10.0.0.1:4000: connection refused".
  const std::string& last_failure() const { return last_failure_; }

 private:
  void Dial();
  void Connected();
  std::unique_ptr<Stream> ReadWelcome();
  // Gives this attempt up and plans the next.
  void Fail(const std::string& why);
  const SocketAddress& address() const { return addresses_[attempt_ % addresses_.size()]; }

  const GroupStamp stamp_;
  const Hello me_;
  const std::vector<SocketAddress> addresses_;
  const absl::Duration handshake_limit_;
  size_t attempt_ = 0;
  int connecting_fd_ = -1;               // owned, until it is connected
  std::optional<HelloChannel> channel_;  // connected, hello sent
  Deadline due_;
  std::string last_failure_ = "not dialled yet";
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_DIALER_H_
