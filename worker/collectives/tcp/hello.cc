#include "worker/collectives/tcp/hello.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include "common/status_macros.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/wire.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x48444e52;  // "RNDH"
constexpr uint16_t kVersion = 1;

absl::Status Wrong(std::string_view field) {
  return absl::PermissionDeniedError(fmt::format("its hello has the wrong {}", field));
}

}  // namespace

HelloBytes EncodeHello(const GroupStamp& stamp, const Hello& hello) {
  HelloBytes bytes;
  WireWriter out(bytes.data());
  out.Put(kMagic);
  out.Put(kVersion);
  out.Put(static_cast<uint16_t>(hello.kind));
  out.Put(stamp.job_hash);
  out.Put(stamp.group);
  out.Put(stamp.token);
  out.Put(hello.sender);
  out.Put(hello.receiver);
  out.Put(hello.ranks);
  return bytes;
}

absl::StatusOr<Hello> DecodeHello(const GroupStamp& stamp, const HelloBytes& bytes) {
  WireReader in(bytes.data());
  if (in.Take<uint32_t>() != kMagic) return Wrong("magic");
  if (in.Take<uint16_t>() != kVersion) return Wrong("version");
  Hello hello;
  hello.kind = static_cast<HelloKind>(in.Take<uint16_t>());
  const uint64_t job_hash = in.Take<uint64_t>();
  const uint64_t group = in.Take<uint64_t>();
  if (!SameToken(in.Skip(stamp.token.size()), stamp.token)) return Wrong("token");
  if (job_hash != stamp.job_hash) return Wrong("job");
  if (group != stamp.group) return Wrong("group");
  hello.sender = in.Take<uint16_t>();
  hello.receiver = in.Take<uint16_t>();
  hello.ranks = in.Take<uint32_t>();
  return hello;
}

absl::Status HelloChannel::Send(const HelloBytes& bytes) {
  const iovec pieces[] = {
      {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()}};
  ASSIGN_OR_RETURN(const IoResult result, stream_->Write(pieces));
  if (result.bytes == kHelloBytes) return absl::OkStatus();
  return absl::UnavailableError("a new connection does not take 48 bytes");
}

absl::StatusOr<bool> HelloChannel::Receive(HelloBytes* bytes) {
  const iovec pieces[] = {
      {.iov_base = buffer_.data() + got_, .iov_len = static_cast<size_t>(kHelloBytes - got_)}};
  ASSIGN_OR_RETURN(const IoResult result, stream_->Read(pieces));
  got_ += result.bytes;
  if (got_ < kHelloBytes) return false;
  got_ = 0;
  *bytes = buffer_;
  return true;
}

}  // namespace rondo
