// One group's collectives: what every backend (tcp, nccl, group of one) offers, and what the
// trainer, the sparse all-reduce and the state transfer are written against.
//
// Rules for all calls
//   * Ranks are dense in [0, size) and fixed; new members, new group, new communicator.
//   * All ranks make the same calls in the same order with the same CallId (Send and Receive: the
//   two ranks concerned).
//     A rank that disagrees in round, attempt, phase, algorithm, element type or count is refused
//     by name.
//   * Each call blocks for at most `timeout`, which must be positive; absl::InfiniteDuration() is
//   legal.
//   * Sizes may be zero: such a call still checks that the ranks agree.
//   * Errors: Unavailable (a peer died or left), DeadlineExceeded (past `timeout`; names who was
//   waited for), Aborted
//     (Abort was called), InvalidArgument (a peer's message is not the one agreed on, or an
//     argument is wrong). Any of them breaks the group: buffers being written hold rubbish, the
//     connections are shut down so that the peers fail too, and each later call returns
//     FailedPrecondition. A broken communicator is never repaired: the caller waits for the next
//     group.
//   * Threads: one owner thread makes the calls; Abort and Counters may be called from any thread.
//   * Ownership: spans are borrowed for the length of the call.
#ifndef RONDO_WORKER_COLLECTIVES_COMMUNICATOR_H_
#define RONDO_WORKER_COLLECTIVES_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/span.h"

namespace rondo {

// What a call is for. Travels in each message's header, so ranks at different places of a round
// never mix their data. Values are on the wire: append only.
enum class Phase : uint16_t {
  kState = 1,            // state given to a joiner, or a step's result given in a repair
  kGradients = 2,        // parallel mode: the step's gradients
  kParameters = 3,       // local mode: parameters or their deltas
  kBuffers = 4,          // float buffers of the model
  kOptimizer = 5,        // moments, when the job averages them
  kFlags = 6,            // small integers: who is finite, sizes
  kSparseSelection = 7,  // histogram of positions, counts
  kSparseSplit = 8,      // pieces to their owners
  kSparseThreshold = 9,  // distributed histogram of the k-th key
  kSparseBalance = 10,   // re-blocking
  kSparseGather = 11,    // the result to all
};
std::string_view PhaseName(Phase phase);

// Names a call: the same on every rank. `attempt_or_step` is the attempt of a local round's reduce,
// or the step in parallel mode.
struct CallId {
  int64_t round = 0;
  int64_t attempt_or_step = 0;
  Phase phase = Phase::kParameters;
};

// Bytes since the communicator was made. Payload is what the caller's spans hold; header is what
// the backend adds (0 where the backend does not say).
struct TrafficCounters {
  int64_t payload_bytes_sent = 0;
  int64_t payload_bytes_received = 0;
  int64_t header_bytes_sent = 0;
  int64_t header_bytes_received = 0;

  TrafficCounters& operator+=(const TrafficCounters& other) {
    payload_bytes_sent += other.payload_bytes_sent;
    payload_bytes_received += other.payload_bytes_received;
    header_bytes_sent += other.header_bytes_sent;
    header_bytes_received += other.header_bytes_received;
    return *this;
  }
  // What has come on top since `earlier`.
  friend TrafficCounters operator-(const TrafficCounters& now, const TrafficCounters& earlier) {
    return {.payload_bytes_sent = now.payload_bytes_sent - earlier.payload_bytes_sent,
            .payload_bytes_received = now.payload_bytes_received - earlier.payload_bytes_received,
            .header_bytes_sent = now.header_bytes_sent - earlier.header_bytes_sent,
            .header_bytes_received = now.header_bytes_received - earlier.header_bytes_received};
  }
};

using ByteSpan = DeviceSpan<std::byte>;
using ConstByteSpan = DeviceSpan<const std::byte>;

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sums `data` over all ranks, in place. Every rank gets the same bytes, and the same inputs with
  // the same group size give the same bytes again; the order of the sum is the backend's: compare
  // with another backend by a tolerance. Shape: [n] float32 on this group's device, the same n on
  // every rank. Cost: each rank sends about 8n(P-1)/P bytes.
  virtual absl::Status AllReduceSum(const CallId& call, DeviceSpan<float> data,
                                    absl::Duration timeout) = 0;

  // Sums integers in host memory over all ranks, in place, modulo 2^64. Meant for small n (counts,
  // histograms). Cost: each rank sends about 8n log2(P) bytes.
  virtual absl::Status AllReduceSum(const CallId& call, std::span<uint64_t> data,
                                    absl::Duration timeout) = 0;

  // Puts rank i's `mine` at all[i * mine.size], for every i, on every rank. `mine` has the same
  // size on every rank and all.size = P * mine.size. `mine` may be its own place in `all`, and must
  // not overlap it otherwise.
  virtual absl::Status AllGather(const CallId& call, ConstByteSpan mine, ByteSpan all,
                                 absl::Duration timeout) = 0;

  // As AllGather with a size for each rank: `sizes` has P entries in bytes, the same on every rank,
  // and all.size is their sum; pieces lie in rank order without gaps. mine.size = sizes[rank].
  virtual absl::Status AllGatherV(const CallId& call, ConstByteSpan mine,
                                  std::span<const int64_t> sizes, ByteSpan all,
                                  absl::Duration timeout) = 0;

  // send[i] goes to rank i and arrives in its receive[rank()]; both have P entries, and the sizes
  // of the two ends agree (ExchangeSizes tells them). The own piece is copied. No receive span
  // overlaps another span.
  virtual absl::Status AllToAllV(const CallId& call, std::span<const ConstByteSpan> send,
                                 std::span<const ByteSpan> receive, absl::Duration timeout) = 0;

  // Copies `data` of rank `root` to all others; the same size on every rank. Large data are passed
  // on while they arrive.
  virtual absl::Status Broadcast(const CallId& call, int root, ByteSpan data,
                                 absl::Duration timeout) = 0;

  // Point to point, any size up to 2^62 bytes; the receiver names the same size. The two calls
  // meet: `to` calls Receive.
  virtual absl::Status Send(const CallId& call, int to, ConstByteSpan data,
                            absl::Duration timeout) = 0;
  virtual absl::Status Receive(const CallId& call, int from, ByteSpan data,
                               absl::Duration timeout) = 0;

  // Ends a blocked call at once and for good: it and every later call fail. Threads: any;
  // idempotent; does not block.
  virtual void Abort() = 0;

  // Threads: any.
  virtual TrafficCounters Counters() const = 0;

 protected:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
};

// Sums signed integers: two's complement makes it the same operation.
absl::Status AllReduceSum(Communicator& group, const CallId& call, std::span<int64_t> data,
                          absl::Duration timeout);

// Tells each rank how many bytes (or entries) every other one has for it: `to_each` has P entries;
// entry i of the result is what rank i said for this rank.
absl::StatusOr<std::vector<int64_t>> ExchangeSizes(Communicator& group, const CallId& call,
                                                   std::span<const int64_t> to_each,
                                                   absl::Duration timeout);

// Views of typed memory as bytes, for the calls that move bytes.
template <typename T>
ConstByteSpan AsBytes(DeviceSpan<const T> span) {
  return {reinterpret_cast<const std::byte*>(span.data), span.size * int64_t{sizeof(T)},
          span.device};
}
template <typename T>
ByteSpan AsWritableBytes(DeviceSpan<T> span) {
  return {reinterpret_cast<std::byte*>(span.data), span.size * int64_t{sizeof(T)}, span.device};
}

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_COMMUNICATOR_H_
