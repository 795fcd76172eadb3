// A connection that came in while a mesh is built: a lower rank of this group, or a stranger until
// it proves to be none. Does not block: the mesh polls and calls.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_VISITOR_H_
#define RONDO_WORKER_COLLECTIVES_TCP_VISITOR_H_

#include <poll.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/hello.h"

namespace rondo {

class Visitor {
 public:
  // Takes `fd`. It has `handshake_limit` for its hello; one that has said hello may take `until` to
  // confirm.
  Visitor(const GroupStamp& stamp, int rank, int ranks, int fd, absl::Duration handshake_limit,
          Deadline until);

  pollfd Poll() const { return {.fd = channel_.fd(), .events = POLLIN, .revents = 0}; }
  Deadline due() const { return due_; }

  // Reads on after poll said that something is there. True once it has confirmed: then peer() is
  // its rank and Release gives the connection. Errors: it is a stranger or gone; drop it.
  absl::StatusOr<bool> Advance();

  bool IsKnown() const { return peer_ >= 0; }
  int peer() const { return peer_; }
  std::unique_ptr<Stream> Release() { return channel_.Release(); }

 private:
  const GroupStamp stamp_;
  const int rank_;
  const int ranks_;
  const Deadline until_;
  HelloChannel channel_;
  Deadline due_;
  int peer_ = -1;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_VISITOR_H_
