#include "tests/chaos/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rondo::chaos {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "tcp proxy: %s: %s\n", what, std::strerror(errno));
  std::abort();
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool WriteAll(int fd, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= sent;
  }
  return true;
}

int Dial(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  if (fd < 0) Die("socket");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

struct TcpProxy::Link {
  int visitor = -1;
  int target = -1;
  std::thread thread;  // Serves the link; ends with it.
  std::atomic<bool> over = false;

  void Break() const {
    shutdown(visitor, SHUT_RDWR);
    if (target >= 0) shutdown(target, SHUT_RDWR);
  }
  ~Link() {
    thread.join();
    close(visitor);
    if (target >= 0) close(target);
  }
};

TcpProxy::TcpProxy() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  auto* system = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, system, length) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, system, &length) != 0) {
    Die("listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { AcceptAll(); });
}

TcpProxy::~TcpProxy() {
  std::list<std::unique_ptr<Link>> links;
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    weather_ = Weather::kCut;
    BreakLinks();
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    absl::MutexLock lock(&mutex_);
    links.swap(links_);
  }
}

void TcpProxy::SetTarget(uint16_t port) {
  absl::MutexLock lock(&mutex_);
  target_ = port;
}

void TcpProxy::Cut() {
  absl::MutexLock lock(&mutex_);
  weather_ = Weather::kCut;
  BreakLinks();
}

void TcpProxy::Hold() {
  absl::MutexLock lock(&mutex_);
  weather_ = Weather::kHeld;
}

void TcpProxy::Heal() {
  absl::MutexLock lock(&mutex_);
  weather_ = Weather::kFair;
}

bool TcpProxy::AwaitBytes(uint64_t bytes, absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const uint64_t wanted = bytes_to_target_ + bytes;
  const auto arrived = [this, wanted]()
                           ABSL_NO_THREAD_SAFETY_ANALYSIS { return bytes_to_target_ >= wanted; };
  return mutex_.AwaitWithTimeout(absl::Condition(&arrived), limit);
}

void TcpProxy::BreakLinks() {
  for (const std::unique_ptr<Link>& link : links_) link->Break();
}

bool TcpProxy::AwaitFair() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](TcpProxy* self)
           ABSL_NO_THREAD_SAFETY_ANALYSIS { return self->weather_ != Weather::kHeld; },
      this));
  return weather_ == Weather::kFair;
}

void TcpProxy::AcceptAll() {
  while (true) {
    const int visitor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::list<std::unique_ptr<Link>> over;  // Joined outside of the lock.
    absl::MutexLock lock(&mutex_);
    if (closing_) {
      if (visitor >= 0) close(visitor);
      return;
    }
    if (visitor < 0) continue;
    for (auto it = links_.begin(); it != links_.end();) {
      const auto link = it++;
      if ((*link)->over) over.splice(over.end(), links_, link);
    }
    auto link = std::make_unique<Link>();
    link->visitor = visitor;
    Link* const raw = link.get();
    const uint16_t target = weather_ == Weather::kCut ? 0 : target_;
    links_.push_back(std::move(link));
    // It starts under the lock, so a Cut from now on finds both sockets or the closed door.
    if (target != 0) raw->target = Dial(target);
    raw->thread = std::thread([this, raw] { Serve(raw); });
  }
}

void TcpProxy::Serve(Link* link) {
  if (link->target >= 0) {
    SendAtOnce(link->visitor);
    SendAtOnce(link->target);
    std::thread back([this, link] { Copy(link, link->target, link->visitor); });
    Copy(link, link->visitor, link->target);
    back.join();
  }
  link->Break();
  link->over = true;
}

void TcpProxy::Copy(Link* link, int from, int to) {
  std::array<char, 64 * 1024> bytes;
  while (true) {
    const ssize_t count = recv(from, bytes.data(), bytes.size(), 0);
    if (!AwaitFair() || count < 0) return link->Break();
    if (count == 0) {
      shutdown(to, SHUT_WR);  // The other direction may go on.
      return;
    }
    if (!WriteAll(to, bytes.data(), count)) return link->Break();
    if (to != link->target) continue;
    absl::MutexLock lock(&mutex_);
    bytes_to_target_ += static_cast<uint64_t>(count);
  }
}

}  // namespace rondo::chaos
