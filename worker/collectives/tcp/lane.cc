#include "worker/collectives/tcp/lane.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/span.h"

namespace rondo {
namespace {

// One write or direct read: large enough to be cheap, small enough that sending and receiving take
// turns.
constexpr int64_t kIoBytesMax = 1 << 20;
// A gated message waits for this much before it sends again, or for its end.
constexpr int64_t kGatePieceBytes = 64 << 10;
// Payloads up to this size are read together with their header.
constexpr int64_t kShortBytesMax = 64 << 10;

iovec Piece(const std::byte* data, int64_t size) {
  return {.iov_base = const_cast<std::byte*>(data), .iov_len = static_cast<size_t>(size)};
}

}  // namespace

Lane::Lane(int peer, std::unique_ptr<Stream> stream, AtomicTraffic* traffic)
    : peer_(peer), stream_(std::move(stream)), traffic_(traffic), scratch_(kScratchBytes) {}

void Lane::Begin(const MessageHeader& header, int rank) {
  header_ = header;
  rank_ = rank;
  outgoing_.clear();
  incoming_.clear();
  next_out_ = 0;
  next_in_ = 0;
  // Both are tried before anything is polled: the state of the last exchange is old.
  write_blocked_ = false;
  read_blocked_ = false;
}

int64_t Lane::Available(const Outgoing& message) const {
  return message.gate == nullptr ? message.length : message.gate->delivered;
}

bool Lane::MaySend() const {
  if (!HasToSend()) return false;
  const Outgoing& message = *outgoing_[next_out_];
  const int64_t available = Available(message);
  if (available == message.length) return true;
  const int64_t payload_sent = std::max<int64_t>(0, sent_ - kHeaderBytes);
  return available - payload_sent >= kGatePieceBytes;
}

absl::Status Lane::Send(bool* moved) {
  if (write_blocked_ || !MaySend()) return absl::OkStatus();
  const Outgoing& message = *outgoing_[next_out_];
  if (sent_ == 0) {
    header_.sender = static_cast<uint16_t>(rank_);
    header_.sequence = sequence_out_;
    header_.length = message.length;
    header_out_ = EncodeHeader(header_);
  }
  const int64_t header_left = std::max<int64_t>(0, kHeaderBytes - sent_);
  const int64_t payload_sent = std::max<int64_t>(0, sent_ - kHeaderBytes);
  const int64_t payload = std::min(Available(message) - payload_sent, kIoBytesMax);
  const iovec pieces[] = {Piece(header_out_.data() + (kHeaderBytes - header_left), header_left),
                          Piece(message.data + payload_sent, payload)};
  ASSIGN_OR_RETURN(const IoResult result, stream_->Write(pieces));
  write_blocked_ = result.blocked;
  *moved = *moved || result.bytes > 0;
  const int64_t header_bytes = std::min(result.bytes, header_left);
  traffic_->header_sent.fetch_add(header_bytes, std::memory_order_relaxed);
  traffic_->payload_sent.fetch_add(result.bytes - header_bytes, std::memory_order_relaxed);
  sent_ += result.bytes;
  if (sent_ == kHeaderBytes + message.length) {
    sent_ = 0;
    ++sequence_out_;
    ++next_out_;
  }
  return absl::OkStatus();
}

absl::Status Lane::Receive(bool* moved) {
  if (read_blocked_ || !HasToReceive()) return absl::OkStatus();
  moved_ = false;
  Incoming& message = *incoming_[next_in_];
  if (header_got_ < kHeaderBytes) {
    int64_t payload = 0;
    RETURN_IF_ERROR(ReceiveHeader(message, &payload));
    // The payload that came along is looked at only now that the header is known to be right.
    if (payload > 0) TakeFromScratch(message, payload);
  } else {
    RETURN_IF_ERROR(ReceivePayload(message));
  }
  *moved = *moved || moved_;
  if (header_got_ == kHeaderBytes && message.delivered == message.length) {
    header_got_ = 0;
    ++sequence_in_;
    ++next_in_;
  }
  return absl::OkStatus();
}

absl::Status Lane::ReceiveHeader(Incoming& message, int64_t* payload_in_scratch) {
  const int64_t header_left = kHeaderBytes - header_got_;
  int64_t along = 0;
  if (message.sink == Sink::kAddFloats || message.length <= kShortBytesMax) {
    along = std::min(message.length, kScratchBytes);
  }
  const iovec pieces[] = {Piece(header_in_.data() + header_got_, header_left),
                          Piece(scratch_.data(), along)};
  ASSIGN_OR_RETURN(const IoResult result, stream_->Read(pieces));
  read_blocked_ = result.blocked;
  moved_ = result.bytes > 0;
  const int64_t header_bytes = std::min(result.bytes, header_left);
  header_got_ += header_bytes;
  traffic_->header_received.fetch_add(header_bytes, std::memory_order_relaxed);
  if (header_got_ < kHeaderBytes) return absl::OkStatus();
  header_.sender = static_cast<uint16_t>(peer_);
  header_.sequence = sequence_in_;
  header_.length = message.length;
  RETURN_IF_ERROR(CheckHeader(header_in_, header_));
  cut_ = 0;
  *payload_in_scratch = result.bytes - header_bytes;
  traffic_->payload_received.fetch_add(*payload_in_scratch, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Lane::ReceivePayload(Incoming& message) {
  const int64_t left = message.length - message.delivered - cut_;
  const bool add = message.sink == Sink::kAddFloats;
  const int64_t wanted = std::min(left, add ? kScratchBytes - cut_ : kIoBytesMax);
  std::byte* const target = add ? scratch_.data() + cut_ : message.data + message.delivered;
  const iovec pieces[] = {Piece(target, wanted)};
  ASSIGN_OR_RETURN(const IoResult result, stream_->Read(pieces));
  read_blocked_ = result.blocked;
  moved_ = result.bytes > 0;
  traffic_->payload_received.fetch_add(result.bytes, std::memory_order_relaxed);
  if (add) {
    TakeFromScratch(message, result.bytes);
  } else {
    message.delivered += result.bytes;
  }
  return absl::OkStatus();
}

void Lane::TakeFromScratch(Incoming& message, int64_t bytes) {
  std::byte* const target = message.data + message.delivered;
  if (message.sink == Sink::kStore) {
    std::memcpy(target, scratch_.data(), bytes);
    message.delivered += bytes;
    return;
  }
  const int64_t there = cut_ + bytes;
  const int64_t floats = there / int64_t{sizeof(float)};
  // Spans on the CPU of one size: Add cannot fail.
  Add(DeviceSpan<float>(reinterpret_cast<float*>(target), floats),
      DeviceSpan<const float>(reinterpret_cast<const float*>(scratch_.data()), floats))
      .IgnoreError();
  const int64_t whole = floats * int64_t{sizeof(float)};
  message.delivered += whole;
  cut_ = there - whole;
  std::memmove(scratch_.data(), scratch_.data() + whole, cut_);
}

pollfd Lane::Poll() const {
  int16_t events = POLLRDHUP;
  if (HasToReceive()) events |= POLLIN;
  if (write_blocked_ && MaySend()) events |= POLLOUT;
  return {.fd = stream_->fd(), .events = events, .revents = 0};
}

void Lane::Polled(int16_t events) {
  constexpr int16_t kEnd = POLLRDHUP | POLLHUP | POLLERR;
  if ((events & (POLLIN | kEnd)) != 0) read_blocked_ = false;
  if ((events & (POLLOUT | POLLERR | POLLHUP)) != 0) write_blocked_ = false;
  if ((events & kEnd) != 0) hung_up_ = true;
}

}  // namespace rondo
