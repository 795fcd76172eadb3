#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/status_macros.h"
#include "kernels/check_entries.h"
#include "kernels/check_spans.h"
#include "kernels/collect.h"
#include "kernels/cpu_path.h"
#include "kernels/cuda_twins.h"
#include "kernels/key_histogram.h"
#include "kernels/key_search.h"
#include "kernels/select.h"

namespace rondo {
namespace {

absl::Status CheckK(std::string_view kernel, int64_t k) {
  if (k >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: k is {}; at least 1 element must be selected", kernel, k));
}

absl::Status CheckRoom(std::string_view kernel, int64_t places, int64_t needed) {
  if (places >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: room for {} entries; {} are needed", kernel, places, needed));
}

// Counts `entries` until the search knows its key.
void Finish(DeviceSpan<const SparseEntry> entries, KeySearch* search) {
  uint64_t bins[kKeyBins];
  while (!search->done()) {
    const std::span<uint64_t> used(bins, static_cast<size_t>(BinsOf(search->level())));
    // On the CPU and checked by the caller: can't fail.
    CountKeysAt(entries, search->level(), search->prefix(), used).IgnoreError();
    search->Narrow(used);
  }
}

int64_t KeepCutCpu(DeviceSpan<const SparseEntry> from, const KeyCut& cut, SparseEntry* to) {
  int64_t kept = 0;
  int64_t ties_left = cut.ties;
  for (int64_t i = 0; i < from.size; ++i) {
    const SparseEntry entry = from.data[i];
    const uint32_t key = KeyOf(entry.value);
    const bool tie = key == cut.key && ties_left > 0;
    ties_left -= tie;
    to[kept] = entry;
    kept += key > cut.key || tie;
  }
  return kept;
}

Selected KeepTopCpu(DeviceSpan<SparseEntry> entries, KeySearch* search) {
  Finish(entries, search);
  const KeyCut cut = search->cut();
  return {.count = KeepCutCpu(entries, cut, entries.data), .lowest_key = cut.key};
}

Selected SelectTopKCpu(DeviceSpan<const float> x, const KeyHistogram& histogram, int64_t k,
                       DeviceSpan<SparseEntry> entries) {
  KeySearch search(k);
  search.Narrow(histogram.bins);
  while (!search.done()) {
    // The count of the lowest bin includes zeros: there, try.
    if (search.floor() == 1 ||
        search.at_or_above_floor() <= static_cast<uint64_t>(ThresholdMost(entries.size))) {
      const Collected found = RunCpuLoop(CollectLoop{x, search.floor(), entries});
      if (found.fits) return KeepTopCpu(entries.Sub(0, found.count), &search);
    }
    uint64_t bins[kKeyBins];
    const std::span<uint64_t> used(bins, static_cast<size_t>(BinsOf(search.level())));
    CountKeysAt(x, search.level(), search.prefix(), used).IgnoreError();
    search.Narrow(used);
  }
  const KeyCut cut = search.cut();
  return {.count = CollectCut(x, cut, entries.data), .lowest_key = cut.key};
}

}  // namespace

int64_t ThresholdRoom(int64_t most) { return most + kCollectGroup; }

int64_t SelectRoom(int64_t n, int64_t k) {
  const int64_t most = k > n / 4 ? n : std::max(4 * k, n / 8);
  return ThresholdRoom(std::min(n, most));
}

absl::StatusOr<Selected> SelectTopK(DeviceSpan<const float> x, const KeyHistogram& histogram,
                                    int64_t k, DeviceSpan<SparseEntry> entries) {
  RETURN_IF_ERROR(CheckK("select_top_k", k));
  RETURN_IF_ERROR(CheckSpans("select_top_k", {{"x", x}}));
  RETURN_IF_ERROR(CheckDenseSize("select_top_k", x.size));
  RETURN_IF_ERROR(CheckEntries("select_top_k", "entries", entries));
  RETURN_IF_ERROR(CheckRoom("select_top_k", entries.size, SelectRoom(x.size, k)));
  if (x.device.kind == DeviceKind::kCuda) return SelectTopKCuda(x, histogram, k, entries);
  return SelectTopKCpu(x, histogram, k, entries);
}

absl::StatusOr<ThresholdSelected> AccumulateSelect(const AccumulateKeysTensors& tensors,
                                                   float scale, uint32_t key,
                                                   DeviceSpan<SparseEntry> entries) {
  RETURN_IF_ERROR(CheckSpans(
      "accumulate_select",
      {{"residual", tensors.residual}, {"values", tensors.values}, {"result", tensors.result}}));
  RETURN_IF_ERROR(CheckDenseSize("accumulate_select", tensors.result.size));
  RETURN_IF_ERROR(CheckEntries("accumulate_select", "entries", entries));
  if (key == 0) {
    return absl::InvalidArgumentError(
        "accumulate_select: the threshold's key is 0; elements equal to 0 are never selected");
  }
  if (tensors.result.device.kind == DeviceKind::kCuda) {
    return AccumulateSelectCuda(tensors, scale, key, entries);
  }
  const Collected found = RunCpuLoop(AccumulateCollectLoop{{scale}, tensors, key, entries});
  return ThresholdSelected{
      .count = found.count, .fits = found.fits, .finite = found.largest < kInfinityKey};
}

absl::StatusOr<Selected> KeepTop(DeviceSpan<SparseEntry> entries, int64_t k) {
  RETURN_IF_ERROR(CheckK("keep_top", k));
  RETURN_IF_ERROR(CheckEntries("keep_top", "entries", entries));
  if (entries.device.kind == DeviceKind::kCuda) return KeepTopCuda(entries, k);
  KeySearch search(k);
  return KeepTopCpu(entries, &search);
}

absl::StatusOr<CutCount> CountAtCut(DeviceSpan<const SparseEntry> entries, uint32_t key) {
  RETURN_IF_ERROR(CheckEntries("count_at_cut", "entries", entries));
  if (entries.device.kind == DeviceKind::kCuda) return CountAtCutCuda(entries, key);
  CutCount count;
  for (int64_t i = 0; i < entries.size; ++i) {
    const uint32_t here = KeyOf(entries.data[i].value);
    count.above += here > key;
    count.ties += here == key;
  }
  return count;
}

absl::StatusOr<int64_t> KeepCut(DeviceSpan<const SparseEntry> from, const KeyCut& cut,
                                DeviceSpan<SparseEntry> to) {
  RETURN_IF_ERROR(CheckEntries("keep_cut", "from", from));
  RETURN_IF_ERROR(CheckEntries("keep_cut", "to", to));
  RETURN_IF_ERROR(CheckRoom("keep_cut", to.size, from.size));
  if (from.device.kind == DeviceKind::kCuda) return KeepCutCuda(from, cut, to);
  return KeepCutCpu(from, cut, to.data);
}

}  // namespace rondo
