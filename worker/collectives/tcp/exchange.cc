#include "worker/collectives/tcp/exchange.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/status_macros.h"

namespace rondo {
namespace {

std::string CallText(const ExchangeCall& call) {
  return fmt::format("{} of {} in round {}, attempt or step {}", AlgorithmName(call.algorithm),
                     PhaseName(call.id.phase), call.id.round, call.id.attempt_or_step);
}

absl::Status WithContext(const absl::Status& status, const ExchangeCall& call, int peer) {
  return absl::Status(status.code(), fmt::format("{}: rank {}: {}", CallText(call), peer,
                                                 std::string(status.message())));
}

// A write fails as soon as the peer is gone; what the peer said before may still be unread and tell
// the cause, such as a header that differs.
absl::Status CauseOf(const absl::Status& write_error, Lane& lane) {
  bool moved = true;
  while (moved && lane.HasToReceive()) {
    moved = false;
    const absl::Status status = lane.Receive(&moved);
    if (absl::IsInvalidArgument(status)) return status;
    if (!status.ok()) break;
  }
  return write_error;
}

}  // namespace

Exchange::Exchange(int rank, const GroupStamp& stamp, std::vector<std::unique_ptr<Stream>> streams,
                   std::shared_ptr<AbortFlag> abort)
    : rank_(rank), stamp_(stamp), abort_(std::move(abort)) {
  for (size_t peer = 0; peer < streams.size(); ++peer) {
    lanes_.push_back(
        streams[peer] == nullptr
            ? nullptr
            : std::make_unique<Lane>(static_cast<int>(peer), std::move(streams[peer]), &traffic_));
  }
}

Exchange::~Exchange() = default;

void Exchange::Shutdown() {
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->stream().Shutdown();
  }
}

void Exchange::Abort() {
  abort_->Set();
  Shutdown();
}

TrafficCounters Exchange::Counters() const {
  return {.payload_bytes_sent = traffic_.payload_sent.load(),
          .payload_bytes_received = traffic_.payload_received.load(),
          .header_bytes_sent = traffic_.header_sent.load(),
          .header_bytes_received = traffic_.header_received.load()};
}

MessageHeader Exchange::HeaderTemplate(const ExchangeCall& call) const {
  return {.job_hash = stamp_.job_hash,
          .group = stamp_.group,
          .token = stamp_.token,
          .call = call.id,
          .algorithm = call.algorithm,
          .type = call.type,
          .count = call.count};
}

absl::Status Exchange::Run(const ExchangeCall& call, std::span<Outgoing> outgoing,
                           std::span<Incoming> incoming) {
  const MessageHeader header = HeaderTemplate(call);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->Begin(header, rank_);
  }
  for (Outgoing& message : outgoing) lanes_[message.peer]->Queue(&message);
  for (Incoming& message : incoming) lanes_[message.peer]->Queue(&message);
  active_.clear();
  for (int i = 1; i < size(); ++i) {
    Lane* const lane = lanes_[(rank_ + i) % size()].get();
    if (!lane->IsDone()) active_.push_back(lane);
  }
  absl::Status status = Loop(call);
  // Whatever the sockets said: a shutdown by Abort looks like a peer that left.
  if (!status.ok() && abort_->IsSet()) {
    return absl::AbortedError(fmt::format("{}: aborted by this worker", CallText(call)));
  }
  return status;
}

absl::Status Exchange::Loop(const ExchangeCall& call) {
  if (abort_->IsSet()) return absl::AbortedError("aborted");
  while (true) {
    bool moved = false;
    RETURN_IF_ERROR(Turn(call, &moved));
    std::erase_if(active_, [](const Lane* lane) { return lane->IsDone(); });
    if (active_.empty()) return absl::OkStatus();
    if (call.deadline.HasPassed()) {
      return absl::DeadlineExceededError(
          fmt::format("{}: time limit passed while waiting for {}", CallText(call), WaitedFor()));
    }
    if (!moved) RETURN_IF_ERROR(Wait(call));
  }
}

absl::Status Exchange::Turn(const ExchangeCall& call, bool* moved) {
  for (Lane* const lane : active_) {
    if (const absl::Status status = lane->Send(moved); !status.ok()) {
      return WithContext(CauseOf(status, *lane), call, lane->peer());
    }
    if (const absl::Status status = lane->Receive(moved); !status.ok()) {
      return WithContext(status, call, lane->peer());
    }
  }
  return absl::OkStatus();
}

absl::Status Exchange::Wait(const ExchangeCall& call) {
  polled_.clear();
  for (const Lane* const lane : active_) polled_.push_back(lane->Poll());
  polled_.push_back({.fd = abort_->fd(), .events = POLLIN, .revents = 0});
  const int ready = poll(polled_.data(), polled_.size(), call.deadline.PollMilliseconds());
  if (ready < 0 && errno != EINTR) {
    return absl::InternalError(fmt::format("poll failed: {}", std::strerror(errno)));
  }
  if (abort_->IsSet()) return absl::AbortedError("aborted");
  for (size_t i = 0; i < active_.size() && ready > 0; ++i) {
    active_[i]->Polled(polled_[i].revents);
    if (active_[i]->IsDeserted()) {
      return WithContext(absl::UnavailableError("connection closed before all was sent"), call,
                         active_[i]->peer());
    }
  }
  return absl::OkStatus();
}

std::string Exchange::WaitedFor() const {
  std::string text;
  for (const Lane* const lane : active_) {
    const char* const what = lane->HasToReceive() ? "data from" : "room to send to";
    text += fmt::format("{}{} rank {}", text.empty() ? "" : ", ", what, lane->peer());
  }
  return text;
}

}  // namespace rondo
