// One peer's side of an exchange: the queue of messages to it and from it, and how far each has
// come.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_LANE_H_
#define RONDO_WORKER_COLLECTIVES_TCP_LANE_H_

#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/stream.h"

namespace rondo {

// What becomes of bytes that arrive.
enum class Sink { kStore, kAddFloats };

// A message to receive: exactly `length` bytes into, or as float32 added to, `data`.
struct Incoming {
  int peer = 0;
  std::byte* data = nullptr;
  int64_t length = 0;
  Sink sink = Sink::kStore;
  int64_t delivered = 0;  // bytes that are in `data` for good; the exchange counts it up
};

// A message to send. With a gate, which has the same length and the same data, byte i leaves after
// the gate delivered it.
struct Outgoing {
  int peer = 0;
  const std::byte* data = nullptr;
  int64_t length = 0;
  const Incoming* gate = nullptr;
};

// TrafficCounters that another thread may read.
struct AtomicTraffic {
  std::atomic<int64_t> payload_sent = 0;
  std::atomic<int64_t> payload_received = 0;
  std::atomic<int64_t> header_sent = 0;
  std::atomic<int64_t> header_received = 0;
};

class Lane {
 public:
  Lane(int peer, std::unique_ptr<Stream> stream, AtomicTraffic* traffic);

  // Forgets the last exchange's messages (all done) and begins a new one, whose messages have
  // `header`'s fields but for sender, sequence and length.
  void Begin(const MessageHeader& header, int rank);
  // The messages stay the caller's and outlive the exchange.
  void Queue(Outgoing* message) { outgoing_.push_back(message); }
  void Queue(Incoming* message) { incoming_.push_back(message); }

  bool HasToSend() const { return next_out_ < outgoing_.size(); }
  bool HasToReceive() const { return next_in_ < incoming_.size(); }
  bool IsDone() const { return !HasToSend() && !HasToReceive(); }

  // One piece of at most 1 MB, without waiting; `moved` becomes true if a byte went.
  // Errors: Unavailable; Receive also InvalidArgument for a header that is not the expected one.
  absl::Status Send(bool* moved);
  absl::Status Receive(bool* moved);

  // What to poll for, and what poll said.
  pollfd Poll() const;
  void Polled(int16_t events);
  // The peer said that nothing more comes, although this rank still has something for it.
  bool IsDeserted() const { return hung_up_ && !HasToReceive() && HasToSend(); }

  int peer() const { return peer_; }
  Stream& stream() { return *stream_; }

 private:
  static constexpr int64_t kScratchBytes = 128 << 10;

  int64_t Available(const Outgoing& message) const;
  bool MaySend() const;
  // `bytes` of payload lie in the scratch buffer, behind a cut float of the piece before.
  void TakeFromScratch(Incoming& message, int64_t bytes);
  absl::Status ReceiveHeader(Incoming& message, int64_t* payload_in_scratch);
  absl::Status ReceivePayload(Incoming& message);

  const int peer_;
  const std::unique_ptr<Stream> stream_;
  AtomicTraffic* const traffic_;
  MessageHeader header_;
  int rank_ = 0;

  std::vector<Outgoing*> outgoing_;
  size_t next_out_ = 0;
  uint64_t sequence_out_ = 0;
  int64_t sent_ = 0;  // of the current message, header included; 0: its header is not made yet
  HeaderBytes header_out_;
  bool write_blocked_ = false;

  std::vector<Incoming*> incoming_;
  size_t next_in_ = 0;
  uint64_t sequence_in_ = 0;
  int64_t header_got_ = 0;
  HeaderBytes header_in_;
  int64_t cut_ =
      0;  // bytes of a float that has not arrived whole, at the start of the scratch buffer
  bool read_blocked_ = false;
  bool hung_up_ = false;
  bool moved_ = false;
  std::vector<std::byte> scratch_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_LANE_H_
