#include "tests/e2e/sockets.h"

#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rondo::e2e {
namespace {

// A copy of another process's socket; closed with it.
class Copied {
 public:
  explicit Copied(int fd) : fd_(fd) {}
  Copied(Copied&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Copied() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  uint16_t local() const { return Port(getsockname); }
  uint16_t peer() const { return Port(getpeername); }

 private:
  // 0: not connected over IPv4.
  template <typename Ask>
  uint16_t Port(Ask ask) const {
    sockaddr_in address = {};
    socklen_t length = sizeof(address);
    if (ask(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
    return address.sin_family == AF_INET ? ntohs(address.sin_port) : 0;
  }
  int fd_;
};

// The process's connected sockets. False: they cannot be had.
bool CopySockets(pid_t pid, std::vector<Copied>* sockets) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return false;
  bool allowed = true;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.rfind("socket:", 0) != 0) continue;
    const int number = std::stoi(entry.path().filename().string());
    const int fd = static_cast<int>(syscall(SYS_pidfd_getfd, process, number, 0));
    if (fd < 0) {
      allowed = allowed && errno == EBADF;  // Closed meanwhile.
      continue;
    }
    Copied copy(fd);
    if (copy.peer() != 0) sockets->push_back(std::move(copy));
  }
  close(process);
  return allowed && !error;
}

}  // namespace

int CutConnections(pid_t a, pid_t b) {
  std::vector<Copied> of_a;
  std::vector<Copied> of_b;
  if (!CopySockets(a, &of_a) || !CopySockets(b, &of_b)) return -1;
  int cut = 0;
  for (const Copied& one : of_a) {
    for (const Copied& other : of_b) {
      if (one.local() != other.peer() || one.peer() != other.local()) continue;
      shutdown(one.fd(), SHUT_RDWR);
      ++cut;
    }
  }
  return cut;
}

}  // namespace rondo::e2e
