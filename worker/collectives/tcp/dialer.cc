#include "worker/collectives/tcp/dialer.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rondo {
namespace {

constexpr absl::Duration kPauseFirst = absl::Milliseconds(5);
constexpr absl::Duration kPauseMax = absl::Milliseconds(500);

// `times` doublings of `base`, at most `max`.
absl::Duration Doubled(absl::Duration base, size_t times, absl::Duration max) {
  return std::min(base * (int64_t{1} << std::min<size_t>(times, 16)), max);
}

}  // namespace

Dialer::Dialer(const GroupStamp& stamp, const Hello& me, std::vector<SocketAddress> addresses,
               absl::Duration handshake_limit)
    : stamp_(stamp),
      me_(me),
      addresses_(std::move(addresses)),
      handshake_limit_(handshake_limit),
      due_(Deadline::After(absl::ZeroDuration())) {}

Dialer::~Dialer() {
  if (connecting_fd_ >= 0) close(connecting_fd_);
}

pollfd Dialer::Poll() const {
  if (channel_.has_value()) return {.fd = channel_->fd(), .events = POLLIN, .revents = 0};
  return {.fd = connecting_fd_, .events = POLLOUT, .revents = 0};
}

std::unique_ptr<Stream> Dialer::Advance(int16_t events) {
  if (channel_.has_value() && events != 0) return ReadWelcome();
  if (connecting_fd_ >= 0 && events != 0) {
    Connected();
    return nullptr;
  }
  if (!due_.HasPassed()) return nullptr;
  if (channel_.has_value()) {
    Fail("connected, but no answer to the hello");
  } else if (connecting_fd_ >= 0) {
    Fail("no answer to the connect");
  } else {
    Dial();
  }
  return nullptr;
}

void Dialer::Dial() {
  connecting_fd_ = socket(address().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connecting_fd_ < 0) return Fail(std::strerror(errno));
  due_ = Deadline::After(handshake_limit_);
  if (connect(connecting_fd_, address().system(), address().length()) == 0) return Connected();
  if (errno != EINPROGRESS) Fail(std::strerror(errno));
}

void Dialer::Connected() {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(connecting_fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return Fail(std::strerror(error));
  channel_.emplace(MakePlainStream(std::exchange(connecting_fd_, -1)));
  const absl::Status sent = channel_->Send(EncodeHello(stamp_, me_));
  if (!sent.ok()) return Fail(std::string(sent.message()));
  // The peer may not have begun to build this group: its system holds the connection. So each
  // attempt waits longer than the one before, and only a peer with several addresses or a lost
  // connection is dialled anew.
  due_ = Deadline::After(Doubled(handshake_limit_, attempt_, absl::Hours(1)));
}

std::unique_ptr<Stream> Dialer::ReadWelcome() {
  HelloBytes bytes;
  const absl::StatusOr<bool> whole = channel_->Receive(&bytes);
  if (!whole.ok()) {
    Fail("it closed the connection during the handshake; another token, job or group?");
    return nullptr;
  }
  if (!*whole) return nullptr;
  const absl::StatusOr<Hello> welcome = DecodeHello(stamp_, bytes);
  if (!welcome.ok() || welcome->kind != HelloKind::kWelcome || welcome->sender != me_.receiver ||
      welcome->receiver != me_.sender || welcome->ranks != me_.ranks) {
    Fail(welcome.ok() ? "it is another rank" : std::string(welcome.status().message()));
    return nullptr;
  }
  Hello confirm = me_;
  confirm.kind = HelloKind::kConfirm;
  const absl::Status sent = channel_->Send(EncodeHello(stamp_, confirm));
  if (!sent.ok()) {
    Fail(std::string(sent.message()));
    return nullptr;
  }
  std::unique_ptr<Stream> stream = channel_->Release();
  channel_.reset();
  return stream;
}

void Dialer::Fail(const std::string& why) {
  last_failure_ = fmt::format("{}: {}", address().ToString(), why);
  channel_.reset();
  if (connecting_fd_ >= 0) close(std::exchange(connecting_fd_, -1));
  ++attempt_;
  // All addresses are tried at once, then there is a pause that grows.
  const size_t laps = attempt_ / addresses_.size();
  const bool pause = attempt_ % addresses_.size() == 0;
  due_ = Deadline::After(pause ? Doubled(kPauseFirst, laps, kPauseMax) : absl::ZeroDuration());
}

}  // namespace rondo
