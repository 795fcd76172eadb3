// A member's own side of a sparse reduction: its residual, the sum of residual and new values, and
// the entries selected from that. Nothing here talks to other members.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_RESIDUAL_SELECTION_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_RESIDUAL_SELECTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/flat_floats.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/reduction.h"

namespace rondo {

// Threads: one owner. Memory: 8 bytes an element, and entries.
class ResidualSelection {
 public:
  // Vectors of `size` elements; the residual begins as zeros.
  explicit ResidualSelection(int64_t size)
      : size_(size), vectors_{FlatFloats(size, 0.0f), FlatFloats(size, 0.0f)} {}

  int64_t size() const { return size_; }
  DeviceSpan<float> residual() { return {vectors_[current_].data(), size_}; }
  // What Commit makes the residual.
  DeviceSpan<float> staged() { return {vectors_[1 - current_].data(), size_}; }

  // staged = residual + factor * values, and of it the first min(k, non-zeros) elements become
  // selected(). False, and an empty selection, if an element isn't finite. Factor 0: staged is the
  // residual and nothing is selected. `lowest_key`, if not null and something may be selected,
  // becomes the selection's lowest key. One scan where the lowest key is about what the last steps
  // let foresee: all a bit below it is collected, and the first k of that kept. Three scans where
  // it is not, two at first. The result is always the same.
  absl::StatusOr<bool> SelectTop(const ReductionInput& input, int64_t k, uint32_t* lowest_key);

  // The same in one scan instead of two by a threshold from an earlier step, `*key`: elements at or
  // above it, at most the first k of them. If they are fewer than 3k/4 or more than 5k/4, or *key
  // is 0, selects as SelectTop and sets *key.
  absl::StatusOr<bool> SelectAtThreshold(const ReductionInput& input, int64_t k, uint32_t* key);

  DeviceSpan<const SparseEntry> selected() const { return {entries_.data(), count_}; }

  // In staged, sets to zero what is both in selected() and in `taken`. Errors: InvalidArgument for
  // a list that isn't ascending within the vector.
  absl::Status ClearDelivered(DeviceSpan<const SparseEntry> taken);

  // Staged becomes the residual.
  void Commit() { current_ = 1 - current_; }

 private:
  AccumulateKeysTensors Tensors(const ReductionInput& input);
  absl::StatusOr<bool> StageOnly();
  // In one scan; false if `key` doesn't show them all, or shows too many: staged is made then, too.
  struct Attempt {
    bool finite = true;
    bool found = false;
  };
  absl::StatusOr<Attempt> TrySelect(const ReductionInput& input, int64_t k, uint32_t key,
                                    uint32_t* lowest_key);
  // Of what is staged.
  absl::Status SelectStaged(int64_t k, uint32_t* lowest_key);
  // The same with its histogram at hand.
  absl::Status SelectCounted(const KeyHistogram& histogram, int64_t k, uint32_t* lowest_key);
  DeviceSpan<SparseEntry> Places(int64_t room);

  const int64_t size_;
  FlatFloats vectors_[2];
  int current_ = 0;
  SparseEntries entries_;
  int64_t count_ = 0;
  uint32_t last_lowest_ = 0;  // SelectTop's last lowest key; 0: none
  uint32_t hint_ = 0;         // SelectTop's next selection should lie at or above it; 0: unknown
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_RESIDUAL_SELECTION_H_
