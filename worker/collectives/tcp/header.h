// The header of each message between workers: 88 bytes, little-endian, in the order of
// `MessageHeader` behind magic and version. The receiver knows every field before the message
// arrives; what differs is refused by name.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_HEADER_H_
#define RONDO_WORKER_COLLECTIVES_TCP_HEADER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// On the wire: append only.
enum class ElementType : uint8_t { kByte = 1, kFloat32 = 2, kUint64 = 3 };
enum class Algorithm : uint8_t {
  kRing = 1,
  kDoubling = 2,
  kAllGather = 3,
  kAllToAll = 4,
  kBroadcast = 5,
  kPointToPoint = 6,
};
std::string_view AlgorithmName(Algorithm algorithm);

using Token = std::array<std::byte, 16>;

struct MessageHeader {
  uint64_t job_hash = 0;
  uint64_t group = 0;
  Token token = {};
  CallId call = {};  // round, attempt or step, phase
  Algorithm algorithm = Algorithm::kRing;
  ElementType type = ElementType::kByte;
  uint16_t sender = 0;    // rank
  int64_t count = 0;      // elements of the whole call; 0 where each message has its own length
  uint64_t sequence = 0;  // messages before this one on this connection, in this direction
  int64_t length = 0;     // bytes of payload that follow
};

inline constexpr int64_t kHeaderBytes = 88;
using HeaderBytes = std::array<std::byte, kHeaderBytes>;

HeaderBytes EncodeHeader(const MessageHeader& header);

// OK if `bytes` is exactly `expected`; InvalidArgument names the first field that differs, both
// values and the sender. The token is compared in constant time and never printed.
absl::Status CheckHeader(const HeaderBytes& bytes, const MessageHeader& expected);

// Equal, in a time that does not depend on where they differ.
bool SameToken(const std::byte* a, const Token& b);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_HEADER_H_
