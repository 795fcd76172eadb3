#include "worker/collectives/sparse/residual_selection.h"

#include <algorithm>
#include <cstring>

#include "common/status_macros.h"
#include "kernels/key_histogram.h"
#include "kernels/residual.h"
#include "kernels/select.h"

namespace rondo {

AccumulateKeysTensors ResidualSelection::Tensors(const ReductionInput& input) {
  return {.residual = residual(), .values = input.values, .result = staged()};
}

absl::StatusOr<bool> ResidualSelection::StageOnly() {
  if (size_ > 0) std::memcpy(staged().data, residual().data, size_ * sizeof(float));
  return true;
}

absl::StatusOr<bool> ResidualSelection::SelectStaged(const KeyHistogram& histogram, int64_t k,
                                                     uint32_t* lowest_key) {
  const int64_t room = SelectRoom(size_, k);
  if (static_cast<int64_t>(entries_.size()) < room) entries_.resize(static_cast<size_t>(room));
  const DeviceSpan<SparseEntry> places(entries_.data(), static_cast<int64_t>(entries_.size()));
  ASSIGN_OR_RETURN(const Selected selected, SelectTopK(staged(), histogram, k, places));
  count_ = selected.count;
  if (lowest_key != nullptr) *lowest_key = selected.lowest_key;
  return true;
}

absl::StatusOr<bool> ResidualSelection::SelectTop(const ReductionInput& input, int64_t k,
                                                  uint32_t* lowest_key) {
  count_ = 0;
  if (input.factor == 0) return StageOnly();
  KeyHistogram histogram;
  RETURN_IF_ERROR(AccumulateKeys(Tensors(input), input.factor, &histogram));
  if (!histogram.finite()) return false;
  return SelectStaged(histogram, k, lowest_key);
}

absl::StatusOr<bool> ResidualSelection::SelectAtThreshold(const ReductionInput& input, int64_t k,
                                                          uint32_t* key) {
  if (*key == 0 || input.factor == 0) return SelectTop(input, k, key);
  count_ = 0;
  const int64_t most = std::min(size_, k + k / 4);
  const int64_t room = ThresholdRoom(most + 1);  // one more shows that there are too many
  if (static_cast<int64_t>(entries_.size()) < room) entries_.resize(static_cast<size_t>(room));
  const DeviceSpan<SparseEntry> places(entries_.data(), room);
  ASSIGN_OR_RETURN(const ThresholdSelected found,
                   AccumulateSelect(Tensors(input), input.factor, *key, places));
  if (!found.finite) return false;
  if (!found.fits || found.count > most || found.count < k - k / 4) {
    KeyHistogram histogram;
    RETURN_IF_ERROR(CountKeys(staged(), &histogram));
    return SelectStaged(histogram, k, key);
  }
  count_ = found.count;
  if (count_ > k) {
    ASSIGN_OR_RETURN(const Selected kept, KeepTop(places.Sub(0, count_), k));
    count_ = kept.count;
  }
  return true;
}

absl::Status ResidualSelection::ClearDelivered(DeviceSpan<const SparseEntry> taken) {
  return rondo::ClearDelivered(staged(), selected(), taken);
}

}  // namespace rondo
