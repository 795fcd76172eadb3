// One connection to one peer. All bytes between workers pass through this class: encryption is
// another subclass of it.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_STREAM_H_
#define RONDO_WORKER_COLLECTIVES_TCP_STREAM_H_

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

namespace rondo {

// What one read or write did. `blocked`: the next one would find nothing to do; poll first.
struct IoResult {
  int64_t bytes = 0;
  bool blocked = false;
};

// Threads: one owner; Shutdown from any thread while the object lives.
class Stream {
 public:
  virtual ~Stream() = default;

  // Never block. Errors: Unavailable once the peer is gone (a read says so only when all that
  // arrived is read).
  virtual absl::StatusOr<IoResult> Write(std::span<const iovec> pieces) = 0;
  virtual absl::StatusOr<IoResult> Read(std::span<const iovec> pieces) = 0;

  // Ends both directions at once, and wakes whoever polls on it; the descriptor stays open until
  // destruction.
  virtual void Shutdown() = 0;

  // For poll(2).
  virtual int fd() const = 0;
};

// Plain TCP. Takes `fd`: a connected, non-blocking socket. Turns Nagle's delay off, and gives it a
// small send buffer if both ends have one address.
std::unique_ptr<Stream> MakePlainStream(int fd);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_STREAM_H_
