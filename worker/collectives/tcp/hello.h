// The first bytes on a new connection. The lower rank of a pair dials and sends `hello`; the higher
// one checks it, answers `welcome`; the dialler checks that and sends `confirm`. Only then is the
// connection the pair's. Each of the three is 48 bytes of the same form, little-endian: magic
// "RNDH", version, kind, job hash, group, token, sender, receiver, group size. Nothing else is read
// before all of it is right.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_HELLO_H_
#define RONDO_WORKER_COLLECTIVES_TCP_HELLO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/collectives/tcp/exchange.h"
#include "worker/collectives/tcp/stream.h"

namespace rondo {

enum class HelloKind : uint16_t { kHello = 1, kWelcome = 2, kConfirm = 3 };

struct Hello {
  HelloKind kind = HelloKind::kHello;
  uint16_t sender = 0;
  uint16_t receiver = 0;
  uint32_t ranks = 0;
};

inline constexpr int64_t kHelloBytes = 48;
using HelloBytes = std::array<std::byte, kHelloBytes>;

HelloBytes EncodeHello(const GroupStamp& stamp, const Hello& hello);

// What the sender says of itself, once magic, version, job, group and token are found right (the
// token in constant time). Errors: PermissionDenied with the first field that is wrong.
absl::StatusOr<Hello> DecodeHello(const GroupStamp& stamp, const HelloBytes& bytes);

// A connection before it is a group's: sends and receives hellos, never a byte more.
class HelloChannel {
 public:
  explicit HelloChannel(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Fits into the send buffer of any new connection: Unavailable otherwise.
  absl::Status Send(const HelloBytes& bytes);
  // True once a whole hello is in `*bytes`; false: poll, then call again. Errors: Unavailable.
  absl::StatusOr<bool> Receive(HelloBytes* bytes);

  int fd() const { return stream_->fd(); }
  std::unique_ptr<Stream> Release() { return std::move(stream_); }

 private:
  std::unique_ptr<Stream> stream_;
  HelloBytes buffer_ = {};
  int64_t got_ = 0;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_HELLO_H_
