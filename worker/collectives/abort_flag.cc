#include "worker/collectives/abort_flag.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace rondo {

AbortFlag::AbortFlag() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

AbortFlag::~AbortFlag() {
  if (fd_ >= 0) close(fd_);
}

void AbortFlag::Set() {
  if (set_.exchange(true) || fd_ < 0) return;
  // Cannot fail: the counter goes from 0 to 1, once.
  eventfd_write(fd_, 1);
}

}  // namespace rondo
