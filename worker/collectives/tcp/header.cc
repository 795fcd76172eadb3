#include "worker/collectives/tcp/header.h"

#include <fmt/format.h>

#include "worker/collectives/tcp/wire.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x4d444e52;  // "RNDM"
constexpr uint16_t kVersion = 1;

// Looks at every byte, so that its time tells nothing about the token.
bool SameBytes(const std::byte* a, const std::byte* b, size_t size) {
  std::byte difference{0};
  for (size_t i = 0; i < size; ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

// Collects the first difference.
class Comparison {
 public:
  explicit Comparison(int sender) : sender_(sender) {}

  template <typename T>
  void Field(std::string_view name, const T& got, const T& expected) {
    if (!status_.ok() || got == expected) return;
    status_ = absl::InvalidArgumentError(fmt::format(
        "message from rank {} refused: {} is {}, expected {}; the two ranks disagree about the "
        "call they are in",
        sender_, name, got, expected));
  }
  void Secret(std::string_view name, bool same) {
    if (!status_.ok() || same) return;
    status_ = absl::InvalidArgumentError(fmt::format(
        "message from rank {} refused: {} differs; it is of another group or a stranger", sender_,
        name));
  }
  absl::Status status() && { return std::move(status_); }

 private:
  const int sender_;
  absl::Status status_;
};

// A number that came from the peer has a name only if it is one of ours.
std::string TypeText(uint8_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::kByte:
      return "byte";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kUint64:
      return "uint64";
  }
  return fmt::format("{}", type);
}
std::string AlgorithmText(uint8_t algorithm) {
  const std::string_view name = AlgorithmName(static_cast<Algorithm>(algorithm));
  return name.empty() ? fmt::format("{}", algorithm) : std::string(name);
}
std::string PhaseText(uint16_t phase) {
  return fmt::format("{} ({})", phase, PhaseName(static_cast<Phase>(phase)));
}

}  // namespace

std::string_view AlgorithmName(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring all-reduce";
    case Algorithm::kDoubling:
      return "doubling all-reduce";
    case Algorithm::kAllGather:
      return "all-gather";
    case Algorithm::kAllToAll:
      return "all-to-all";
    case Algorithm::kBroadcast:
      return "broadcast";
    case Algorithm::kPointToPoint:
      return "point to point";
  }
  return "";
}

bool SameToken(const std::byte* a, const Token& b) { return SameBytes(a, b.data(), b.size()); }

HeaderBytes EncodeHeader(const MessageHeader& header) {
  HeaderBytes bytes;
  WireWriter out(bytes.data());
  out.Put(kMagic);
  out.Put(kVersion);
  out.Put(header.sender);
  out.Put(header.job_hash);
  out.Put(header.group);
  out.Put(header.token);
  out.Put(header.call.round);
  out.Put(header.call.attempt_or_step);
  out.Put(static_cast<uint16_t>(header.call.phase));
  out.Put(static_cast<uint8_t>(header.algorithm));
  out.Put(static_cast<uint8_t>(header.type));
  out.Put(uint32_t{0});
  out.Put(header.count);
  out.Put(header.sequence);
  out.Put(header.length);
  return bytes;
}

absl::Status CheckHeader(const HeaderBytes& bytes, const MessageHeader& expected) {
  const HeaderBytes wanted = EncodeHeader(expected);
  if (SameBytes(bytes.data(), wanted.data(), wanted.size())) return absl::OkStatus();
  WireReader in(bytes.data());
  Comparison compare(expected.sender);
  compare.Field("magic", in.Take<uint32_t>(), kMagic);
  compare.Field("version", in.Take<uint16_t>(), kVersion);
  compare.Field("sender", in.Take<uint16_t>(), expected.sender);
  compare.Field("job", in.Take<uint64_t>(), expected.job_hash);
  compare.Field("group", in.Take<uint64_t>(), expected.group);
  compare.Secret("token", SameToken(in.Skip(expected.token.size()), expected.token));
  compare.Field("round", in.Take<int64_t>(), expected.call.round);
  compare.Field("attempt or step", in.Take<int64_t>(), expected.call.attempt_or_step);
  compare.Field("phase", PhaseText(in.Take<uint16_t>()),
                PhaseText(static_cast<uint16_t>(expected.call.phase)));
  const uint8_t algorithm = in.Take<uint8_t>();
  const uint8_t type = in.Take<uint8_t>();
  const uint32_t reserved = in.Take<uint32_t>();
  // The count before the algorithm: unequal counts may also choose unequal algorithms, and are the
  // cause.
  compare.Field("count", in.Take<int64_t>(), expected.count);
  compare.Field("algorithm", AlgorithmText(algorithm),
                AlgorithmText(static_cast<uint8_t>(expected.algorithm)));
  compare.Field("element type", TypeText(type), TypeText(static_cast<uint8_t>(expected.type)));
  compare.Field("sequence", in.Take<uint64_t>(), expected.sequence);
  compare.Field("length", in.Take<int64_t>(), expected.length);
  compare.Field("reserved", reserved, uint32_t{0});
  return std::move(compare).status();
}

}  // namespace rondo
