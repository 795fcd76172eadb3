#include "worker/collectives/sparse/global_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/status_macros.h"
#include "kernels/key_histogram.h"
#include "kernels/key_search.h"
#include "kernels/select.h"
#include "kernels/select_formula.h"
#include "kernels/sparse_entry.h"

namespace rondo {
namespace {

// What is received next is as long as these say.
absl::Status CheckCounts(std::span<const CutCount> counts) {
  const auto fits = [](int64_t count) { return count >= 0 && count <= kSparseSizeMax; };
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (fits(counts[rank].above) && fits(counts[rank].ties)) continue;
    return absl::InvalidArgumentError(
        fmt::format("rank {} has {} entries above the threshold and {} at it; 0 to {} are possible",
                    rank, counts[rank].above, counts[rank].ties, kSparseSizeMax));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KeyCut> FindGlobalCut(Communicator* group, const CallId& call,
                                     DeviceSpan<const SparseEntry> entries, int64_t k,
                                     absl::Duration timeout) {
  KeySearch search(k);
  std::vector<uint64_t> memory(kKeyBins);
  for (bool first = true; !search.done(); first = false) {
    const std::span<uint64_t> bins(memory.data(), static_cast<size_t>(BinsOf(search.level())));
    RETURN_IF_ERROR(CountKeysAt(entries, search.level(), search.prefix(), bins));
    RETURN_IF_ERROR(group->AllReduceSum(call, bins, timeout));
    const uint64_t counted = std::accumulate(bins.begin(), bins.end(), uint64_t{0});
    if (first && counted <= static_cast<uint64_t>(k)) {
      return KeyCut{.key = 1, .ties = std::numeric_limits<int64_t>::max()};
    }
    search.Narrow(bins);
  }
  return search.cut();
}

absl::StatusOr<CutShares> ShareCut(Communicator* group, const CallId& call,
                                   DeviceSpan<const SparseEntry> entries, const KeyCut& cut,
                                   absl::Duration timeout) {
  ASSIGN_OR_RETURN(const CutCount mine, CountAtCut(entries, cut.key));
  std::vector<CutCount> all(static_cast<size_t>(group->size()));
  const DeviceSpan<CutCount> all_span(all.data(), group->size());
  RETURN_IF_ERROR(group->AllGather(call, AsBytes(DeviceSpan<const CutCount>(&mine, 1)),
                                   AsWritableBytes(all_span), timeout));
  RETURN_IF_ERROR(CheckCounts(all));
  CutShares shares;
  int64_t ties_left = cut.ties;
  for (int rank = 0; rank < group->size(); ++rank) {
    const int64_t ties = std::min(ties_left, all[rank].ties);
    ties_left -= ties;
    if (rank == group->rank()) shares.mine = {.key = cut.key, .ties = ties};
    shares.sizes.push_back(all[rank].above + ties);
    shares.total += shares.sizes.back();
  }
  return shares;
}

}  // namespace rondo
