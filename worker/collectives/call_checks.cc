#include "worker/collectives/call_checks.h"

#include <fmt/format.h>

#include "absl/time/time.h"

namespace rondo {

absl::Status CheckTimeout(absl::Duration timeout) {
  if (timeout > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("time limit is {}; it must be positive", absl::FormatDuration(timeout)));
}

absl::Status CheckPeer(const char* argument, int rank, int ranks, int self) {
  if (rank >= 0 && rank < ranks && rank != self) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is rank {}; it must be in [0, {}){}", argument,
                                                rank, ranks,
                                                self >= 0 ? " and not this rank" : ""));
}

absl::Status CheckGatherSizes(std::span<const int64_t> sizes, int ranks, int rank, int64_t mine,
                              int64_t all) {
  if (static_cast<int64_t>(sizes.size()) != ranks) {
    return absl::InvalidArgumentError(
        fmt::format("{} sizes for a group of {}; give one for each rank", sizes.size(), ranks));
  }
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > (int64_t{1} << 62) - sum) {
      return absl::InvalidArgumentError(
          fmt::format("size {} in a gather; sizes are at least 0 and at most 2^62 together", size));
    }
    sum += size;
  }
  if (sizes[rank] != mine || sum != all) {
    return absl::InvalidArgumentError(
        fmt::format("this rank gives {} bytes into a buffer of {}; its sizes say {} of {}", mine,
                    all, sizes[rank], sum));
  }
  return absl::OkStatus();
}

absl::Status CheckAllToAll(std::span<const ConstByteSpan> send, std::span<const ByteSpan> receive,
                           int ranks, int rank) {
  if (static_cast<int64_t>(send.size()) != ranks || static_cast<int64_t>(receive.size()) != ranks) {
    return absl::InvalidArgumentError(
        fmt::format("{} spans to send and {} to receive in a group of {}; give one for each rank",
                    send.size(), receive.size(), ranks));
  }
  if (send[rank].size != receive[rank].size) {
    return absl::InvalidArgumentError(
        fmt::format("this rank sends itself {} bytes and receives {}; the two must be equal",
                    send[rank].size, receive[rank].size));
  }
  return absl::OkStatus();
}

}  // namespace rondo
