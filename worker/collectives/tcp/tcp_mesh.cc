#include "worker/collectives/tcp/tcp_mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "worker/collectives/group_of_one.h"
#include "worker/collectives/tcp/dialer.h"
#include "worker/collectives/tcp/tcp_communicator.h"
#include "worker/collectives/tcp/visitor.h"

namespace rondo {
namespace {

constexpr size_t kVisitorsMax = 256;
constexpr size_t kRanksMax = 65535;
// How long the door stays shut when the system has no descriptor for another visitor.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(20);

class MeshBuilder {
 public:
  MeshBuilder(const TcpListener& listener, const MeshSpec& spec, const GroupStamp& stamp,
              Deadline deadline, AbortFlag* abort)
      : listener_(listener),
        spec_(spec),
        stamp_(stamp),
        deadline_(deadline),
        abort_(*abort),
        accept_from_(Deadline::After(absl::ZeroDuration())),
        streams_(spec.endpoints.size()) {}

  // `addresses` by rank.
  void AddDialers(const std::vector<std::vector<SocketAddress>>& addresses);
  // Blocks until each peer has a connection.
  absl::Status Build();
  std::vector<std::unique_ptr<Stream>> TakeStreams() { return std::move(streams_); }

 private:
  int ranks() const { return static_cast<int>(spec_.endpoints.size()); }
  bool IsComplete() const;
  absl::Status Wait();
  void AdvanceDialers();
  void AdvanceVisitors();
  void Accept();
  std::string Missing() const;

  const TcpListener& listener_;
  const MeshSpec& spec_;
  const GroupStamp stamp_;
  const Deadline deadline_;
  AbortFlag& abort_;
  Deadline accept_from_;
  std::list<Dialer> dialers_;    // to the higher ranks that are missing
  std::list<Visitor> visitors_;  // oldest first
  std::vector<std::unique_ptr<Stream>> streams_;
  int64_t refused_ = 0;
  std::string last_refusal_;
  // What the last Wait said, in the order of dialers_ and visitors_.
  std::vector<pollfd> polled_;
};

void MeshBuilder::AddDialers(const std::vector<std::vector<SocketAddress>>& addresses) {
  for (int peer = spec_.rank + 1; peer < ranks(); ++peer) {
    const Hello me = {.kind = HelloKind::kHello,
                      .sender = static_cast<uint16_t>(spec_.rank),
                      .receiver = static_cast<uint16_t>(peer),
                      .ranks = static_cast<uint32_t>(ranks())};
    dialers_.emplace_back(stamp_, me, addresses[peer], spec_.options.handshake_limit);
  }
}

bool MeshBuilder::IsComplete() const {
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer != spec_.rank && streams_[peer] == nullptr) return false;
  }
  return true;
}

absl::Status MeshBuilder::Build() {
  while (true) {
    AdvanceDialers();
    AdvanceVisitors();
    if (IsComplete()) return absl::OkStatus();
    RETURN_IF_ERROR(Wait());
    Accept();
  }
}

absl::Status MeshBuilder::Wait() {
  Deadline due = deadline_;
  polled_.clear();
  for (const Dialer& dialer : dialers_) {
    polled_.push_back(dialer.Poll());
    due = Earlier(due, dialer.due());
  }
  for (const Visitor& visitor : visitors_) {
    polled_.push_back(visitor.Poll());
    due = Earlier(due, visitor.due());
  }
  const bool open = accept_from_.HasPassed();
  if (!open) due = Earlier(due, accept_from_);
  polled_.push_back({.fd = open ? listener_.fd() : -1, .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = abort_.fd(), .events = POLLIN, .revents = 0});
  if (poll(polled_.data(), polled_.size(), due.PollMilliseconds()) < 0) {
    if (errno != EINTR) {
      return absl::InternalError(fmt::format("poll failed: {}", std::strerror(errno)));
    }
    for (pollfd& entry : polled_) entry.revents = 0;
  }
  if (abort_.IsSet()) {
    return absl::AbortedError(fmt::format("group {}: aborted while connecting", spec_.group));
  }
  if (deadline_.HasPassed()) {
    return absl::DeadlineExceededError(
        fmt::format("group {}: not connected in time to {}", spec_.group, Missing()));
  }
  return absl::OkStatus();
}

void MeshBuilder::AdvanceDialers() {
  size_t index = 0;
  for (auto dialer = dialers_.begin(); dialer != dialers_.end(); ++index) {
    const int16_t events = index < polled_.size() ? polled_[index].revents : 0;
    streams_[dialer->peer()] = dialer->Advance(events);
    dialer = streams_[dialer->peer()] != nullptr ? dialers_.erase(dialer) : std::next(dialer);
  }
}

void MeshBuilder::Accept() {
  if (polled_[polled_.size() - 2].revents == 0) return;
  while (true) {
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) accept_from_ = Deadline::After(kAcceptPause);
      return;
    }
    if (visitors_.size() >= kVisitorsMax) {
      const auto stranger = std::find_if(visitors_.begin(), visitors_.end(),
                                         [](const Visitor& v) { return !v.IsKnown(); });
      visitors_.erase(stranger == visitors_.end() ? visitors_.begin() : stranger);
    }
    visitors_.emplace_back(stamp_, spec_.rank, ranks(), fd, spec_.options.handshake_limit,
                           deadline_);
  }
}

void MeshBuilder::AdvanceVisitors() {
  for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
    // A read that finds nothing costs less than keeping track of who is ready.
    const absl::StatusOr<bool> confirmed = visitor->Advance();
    if (confirmed.ok() && *confirmed && streams_[visitor->peer()] == nullptr) {
      streams_[visitor->peer()] = visitor->Release();
      visitor = visitors_.erase(visitor);
      continue;
    }
    if (confirmed.ok() && !*confirmed && !visitor->due().HasPassed()) {
      ++visitor;
      continue;
    }
    ++refused_;
    last_refusal_ = confirmed.ok() ? "it said nothing in time, or was there already"
                                   : std::string(confirmed.status().message());
    visitor = visitors_.erase(visitor);
  }
}

std::string MeshBuilder::Missing() const {
  std::vector<std::string> parts;
  for (int peer = 0; peer < spec_.rank; ++peer) {
    if (streams_[peer] == nullptr) parts.push_back(fmt::format("rank {} (has not dialled)", peer));
  }
  for (const Dialer& dialer : dialers_) {
    parts.push_back(fmt::format("rank {} ({})", dialer.peer(), dialer.last_failure()));
  }
  std::string text = absl::StrJoin(parts, ", ");
  if (refused_ > 0) {
    text += fmt::format("; {} other connections were dropped, the last because: {}", refused_,
                        last_refusal_);
  }
  return text;
}

absl::Status CheckSpec(const MeshSpec& spec) {
  const size_t ranks = spec.endpoints.size();
  if (ranks == 0 || ranks > kRanksMax || spec.rank < 0 || static_cast<size_t>(spec.rank) >= ranks) {
    return absl::InvalidArgumentError(
        fmt::format("rank {} of {} endpoints; a group has 1 to {} and the rank is one of them",
                    spec.rank, ranks, kRanksMax));
  }
  if (spec.token.size() != std::tuple_size_v<Token>) {
    return absl::InvalidArgumentError(
        fmt::format("token of {} bytes; it has {}", spec.token.size(), std::tuple_size_v<Token>));
  }
  return absl::OkStatus();
}

bool IsLoopbackOnly(const std::vector<SocketAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const SocketAddress& address) { return address.IsLoopback(); });
}

// The addresses of each rank. Loopback mixed with remote is refused (S60): a worker that can be
// reached from its own machine alone would be waited for in vain, or another one be found in its
// place.
absl::StatusOr<std::vector<std::vector<SocketAddress>>> DecodeEndpoints(const MeshSpec& spec) {
  std::vector<std::vector<SocketAddress>> all;
  for (size_t rank = 0; rank < spec.endpoints.size(); ++rank) {
    absl::StatusOr<std::vector<SocketAddress>> addresses = DecodeEndpoint(spec.endpoints[rank]);
    if (!addresses.ok()) {
      return absl::InvalidArgumentError(fmt::format("group {}, rank {}: {}", spec.group, rank,
                                                    std::string(addresses.status().message())));
    }
    all.push_back(*std::move(addresses));
    if (IsLoopbackOnly(all.back()) != IsLoopbackOnly(all.front())) {
      const bool first = IsLoopbackOnly(all.front());
      return absl::InvalidArgumentError(fmt::format(
          "group {}: rank {} is to be reached on loopback only ({}), rank {} from other machines "
          "({}); give the first an address that all can reach",
          spec.group, first ? 0 : rank, spec.endpoints[first ? 0 : rank], first ? rank : 0,
          spec.endpoints[first ? rank : 0]));
    }
  }
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> ConnectMesh(const TcpListener& listener,
                                                          const MeshSpec& spec,
                                                          absl::Duration timeout,
                                                          std::shared_ptr<AbortFlag> abort) {
  RETURN_IF_ERROR(CheckSpec(spec));
  if (spec.endpoints.size() == 1) return MakeGroupOfOne();
  ASSIGN_OR_RETURN(const auto addresses, DecodeEndpoints(spec));
  GroupStamp stamp = {.job_hash = spec.job_hash, .group = spec.group};
  std::memcpy(stamp.token.data(), spec.token.data(), stamp.token.size());
  MeshBuilder builder(listener, spec, stamp, Deadline::After(timeout), abort.get());
  builder.AddDialers(addresses);
  RETURN_IF_ERROR(builder.Build());
  auto exchange =
      std::make_unique<Exchange>(spec.rank, stamp, builder.TakeStreams(), std::move(abort));
  return MakeTcpCommunicator(std::move(exchange), spec.options.doubling_bytes_max);
}

}  // namespace rondo
