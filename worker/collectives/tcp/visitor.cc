#include "worker/collectives/tcp/visitor.h"

#include "common/status_macros.h"

namespace rondo {

Visitor::Visitor(const GroupStamp& stamp, int rank, int ranks, int fd,
                 absl::Duration handshake_limit, Deadline until)
    : stamp_(stamp),
      rank_(rank),
      ranks_(ranks),
      until_(until),
      channel_(MakePlainStream(fd)),
      due_(Earlier(Deadline::After(handshake_limit), until)) {}

absl::StatusOr<bool> Visitor::Advance() {
  HelloBytes bytes;
  ASSIGN_OR_RETURN(const bool whole, channel_.Receive(&bytes));
  if (!whole) return false;
  ASSIGN_OR_RETURN(const Hello hello, DecodeHello(stamp_, bytes));
  if (hello.receiver != rank_ || hello.sender >= rank_ ||
      hello.ranks != static_cast<uint32_t>(ranks_)) {
    return absl::PermissionDeniedError("its hello has the wrong ranks");
  }
  if (IsKnown()) {
    if (hello.kind == HelloKind::kConfirm && hello.sender == peer_) return true;
    return absl::PermissionDeniedError("it did not confirm");
  }
  if (hello.kind != HelloKind::kHello) {
    return absl::PermissionDeniedError("it did not say hello first");
  }
  peer_ = hello.sender;
  due_ = until_;
  const Hello welcome = {.kind = HelloKind::kWelcome,
                         .sender = static_cast<uint16_t>(rank_),
                         .receiver = hello.sender,
                         .ranks = hello.ranks};
  RETURN_IF_ERROR(channel_.Send(EncodeHello(stamp_, welcome)));
  return false;
}

}  // namespace rondo
