#include "worker/collectives/sparse/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/key_formula.h"

namespace rondo {

absl::StatusOr<std::vector<Notice>> ExchangeNotices(Communicator* group, const CallId& call,
                                                    const Notice& mine,
                                                    std::span<const int64_t> to_each,
                                                    std::span<float> extras,
                                                    absl::Duration timeout) {
  const size_t ranks = to_each.size();
  const size_t bytes = sizeof(Notice) + extras.size_bytes();
  std::vector<std::byte> out(ranks * bytes);
  std::vector<std::byte> in(ranks * bytes);
  std::vector<ConstByteSpan> send;
  std::vector<ByteSpan> receive;
  for (size_t rank = 0; rank < ranks; ++rank) {
    Notice notice = mine;
    notice.entries = to_each[rank];
    std::byte* const place = out.data() + rank * bytes;
    std::memcpy(place, &notice, sizeof notice);
    if (!extras.empty()) std::memcpy(place + sizeof notice, extras.data(), extras.size_bytes());
    send.push_back({place, static_cast<int64_t>(bytes)});
    receive.push_back({in.data() + rank * bytes, static_cast<int64_t>(bytes)});
  }
  RETURN_IF_ERROR(group->AllToAllV(call, send, receive, timeout));
  std::vector<Notice> notices(ranks);
  std::fill(extras.begin(), extras.end(), 0.0f);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const std::byte* place = in.data() + rank * bytes;
    std::memcpy(&notices[rank], place, sizeof(Notice));
    place += sizeof(Notice);
    for (float& sum : extras) {
      float extra;
      std::memcpy(&extra, place, sizeof extra);
      sum += extra;
      place += sizeof extra;
    }
  }
  return notices;
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
    if (notice.settings != notices[0].settings) {
      return absl::InvalidArgumentError(fmt::format(
          "sparse reduction in round {}, step {}: rank {} is set up in another way than rank 0 "
          "(mode, intervals, imbalance or window); members must have one job",
          call.round, call.attempt_or_step, rank));
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

absl::Status CheckSums(DeviceSpan<const SparseEntry> entries, const CallId& call) {
  for (int64_t i = 0; i < entries.size; ++i) {
    if (KeyOf(entries.data[i].value) < kInfinityKey) continue;
    return absl::DataLossError(fmt::format(
        "sparse reduction in round {}, step {}: the sum at index {} is not finite, although all "
        "members' values are: they are too large to be added",
        call.round, call.attempt_or_step, entries.data[i].index));
  }
  return absl::OkStatus();
}

}  // namespace rondo
