#include "worker/collectives/sparse/residual_selection.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/key_formula.h"
#include "kernels/key_histogram.h"
#include "kernels/residual.h"
#include "kernels/select.h"

namespace rondo {
namespace {

// An eighth of a power of two: the k-th magnitude may be a tenth below what was foreseen, and of
// normal values at 1 % about twice as many as needed are collected.
constexpr uint32_t kHintMargin = 1u << 20;

// A key at or below that of the next step's k-th element, unless things change much: goes on by
// half of the last change, because residuals grow for many steps, and less the margin.
uint32_t Foresee(uint32_t last, uint32_t before) {
  const auto now = std::bit_cast<float>(last);
  const float change = before == 0 ? 0 : now - std::bit_cast<float>(before);
  const uint32_t next = KeyOf(std::clamp(now + change / 2, now / 2, now * 2));
  return next > kHintMargin && next < kInfinityKey ? next - kHintMargin : 1;
}

}  // namespace

AccumulateKeysTensors ResidualSelection::Tensors(const ReductionInput& input) {
  return {.residual = residual(), .values = input.values, .result = staged()};
}

absl::StatusOr<bool> ResidualSelection::StageOnly() {
  if (size_ > 0) std::memcpy(staged().data, residual().data, size_ * sizeof(float));
  return true;
}

DeviceSpan<SparseEntry> ResidualSelection::Places(int64_t room) {
  if (static_cast<int64_t>(entries_.size()) < room) entries_.resize(static_cast<size_t>(room));
  return {entries_.data(), room};
}

absl::Status ResidualSelection::SelectStaged(int64_t k, uint32_t* lowest_key) {
  KeyHistogram histogram;
  RETURN_IF_ERROR(CountKeys(staged(), &histogram));
  return SelectCounted(histogram, k, lowest_key);
}

absl::Status ResidualSelection::SelectCounted(const KeyHistogram& histogram, int64_t k,
                                              uint32_t* lowest_key) {
  ASSIGN_OR_RETURN(const Selected selected,
                   SelectTopK(staged(), histogram, k, Places(SelectRoom(size_, k))));
  count_ = selected.count;
  *lowest_key = selected.lowest_key;
  return absl::OkStatus();
}

absl::StatusOr<ResidualSelection::Attempt> ResidualSelection::TrySelect(const ReductionInput& input,
                                                                        int64_t k, uint32_t key,
                                                                        uint32_t* lowest_key) {
  const DeviceSpan<SparseEntry> places = Places(SelectRoom(size_, k));
  ASSIGN_OR_RETURN(const ThresholdSelected seen,
                   AccumulateSelect(Tensors(input), input.factor, key, places));
  // Key 1 shows all there is.
  const bool all = seen.fits && (seen.count >= k || key == 1);
  if (!seen.finite || !all) return Attempt{.finite = seen.finite, .found = false};
  ASSIGN_OR_RETURN(const Selected kept, KeepTop(places.Sub(0, seen.count), k));
  count_ = kept.count;
  *lowest_key = kept.lowest_key;
  return Attempt{.finite = true, .found = true};
}

absl::StatusOr<bool> ResidualSelection::SelectTop(const ReductionInput& input, int64_t k,
                                                  uint32_t* lowest_key) {
  count_ = 0;
  if (input.factor == 0) return StageOnly();
  uint32_t lowest = 0;
  if (hint_ != 0) {
    ASSIGN_OR_RETURN(const Attempt attempt, TrySelect(input, k, hint_, &lowest));
    if (!attempt.finite) return false;
    if (!attempt.found) RETURN_IF_ERROR(SelectStaged(k, &lowest));
  } else {
    KeyHistogram histogram;
    RETURN_IF_ERROR(AccumulateKeys(Tensors(input), input.factor, &histogram));
    if (!histogram.finite()) return false;
    RETURN_IF_ERROR(SelectCounted(histogram, k, &lowest));
  }
  hint_ = Foresee(lowest, last_lowest_);
  last_lowest_ = lowest;
  if (lowest_key != nullptr) *lowest_key = lowest;
  return true;
}

absl::StatusOr<bool> ResidualSelection::SelectAtThreshold(const ReductionInput& input, int64_t k,
                                                          uint32_t* key) {
  if (*key == 0 || input.factor == 0) return SelectTop(input, k, key);
  count_ = 0;
  const DeviceSpan<SparseEntry> places = Places(SelectRoom(size_, k));
  ASSIGN_OR_RETURN(const ThresholdSelected found,
                   AccumulateSelect(Tensors(input), input.factor, *key, places));
  if (!found.finite) return false;
  if (!found.fits || found.count < k - k / 4) {
    RETURN_IF_ERROR(SelectStaged(k, key));
    return true;
  }
  count_ = found.count;
  if (count_ <= k) return true;
  ASSIGN_OR_RETURN(const Selected kept, KeepTop(places.Sub(0, count_), k));
  count_ = kept.count;
  if (found.count > k + k / 4) *key = kept.lowest_key;
  return true;
}

absl::Status ResidualSelection::ClearDelivered(DeviceSpan<const SparseEntry> taken) {
  return rondo::ClearDelivered(staged(), selected(), taken);
}

}  // namespace rondo
