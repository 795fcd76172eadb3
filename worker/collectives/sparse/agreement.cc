#include "worker/collectives/sparse/agreement.h"

#include <fmt/format.h>

#include "common/status_macros.h"

namespace rondo {

absl::StatusOr<std::vector<Notice>> ExchangeNotices(Communicator* group, const CallId& call,
                                                    const Notice& mine,
                                                    std::span<const int64_t> to_each,
                                                    absl::Duration timeout) {
  std::vector<Notice> out(to_each.size(), mine);
  std::vector<Notice> in(to_each.size());
  std::vector<ConstByteSpan> send;
  std::vector<ByteSpan> receive;
  for (size_t rank = 0; rank < to_each.size(); ++rank) {
    out[rank].entries = to_each[rank];
    send.push_back(AsBytes(DeviceSpan<const Notice>(&out[rank], 1)));
    receive.push_back(AsWritableBytes(DeviceSpan<Notice>(&in[rank], 1)));
  }
  RETURN_IF_ERROR(group->AllToAllV(call, send, receive, timeout));
  return in;
}

absl::Status CheckNotices(std::span<const Notice> notices, const CallId& call) {
  std::string not_finite;
  for (size_t rank = 0; rank < notices.size(); ++rank) {
    const Notice& notice = notices[rank];
    if (notice.size != notices[0].size || notice.k != notices[0].k) {
      return absl::InvalidArgumentError(fmt::format(
          "sparse reduction in round {}, step {}: rank {} selects {} of {} elements and rank 0 {} "
          "of {}; members must reduce the same vector with the same density",
          call.round, call.attempt_or_step, rank, notice.k, notice.size, notices[0].k,
          notices[0].size));
    }
    if (notice.is_finite == 0)
      not_finite += fmt::format("{}{}", not_finite.empty() ? "" : ", ", rank);
  }
  if (!not_finite.empty()) {
    return absl::DataLossError(fmt::format(
        "sparse reduction in round {}, step {}: the values of rank {} are not finite; nothing was "
        "exchanged, such a member must come with factor 0",
        call.round, call.attempt_or_step, not_finite));
  }
  if (!(FactorSum(notices) > 0)) {
    return absl::DataLossError(fmt::format("no member has a finite value in round {}, step {}",
                                           call.round, call.attempt_or_step));
  }
  return absl::OkStatus();
}

float FactorSum(std::span<const Notice> notices) {
  float sum = 0;
  for (const Notice& notice : notices) sum += notice.factor;
  return sum;
}

bool DigestsAgree(std::span<const Notice> notices) {
  for (const Notice& notice : notices) {
    if (notice.digest == 0 || notice.digest != notices[0].digest) return false;
  }
  return true;
}

absl::Status CheckEntryCounts(std::span<const int64_t> counts, int64_t k) {
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] < 0 || counts[rank] > k) {
      return absl::InvalidArgumentError(
          fmt::format("rank {} announces {} entries; a member has at least 0 and at most {}", rank,
                      counts[rank], k));
    }
  }
  return absl::OkStatus();
}

}  // namespace rondo
