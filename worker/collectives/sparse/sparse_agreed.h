// What the members of a sparse reduction carry from step to step beside their residuals.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_AGREED_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_AGREED_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace rondo {

// Saved and restored with the residual it makes a restored run in mode kThreshold go on with the
// same bits; without, it is found afresh. In mode kExact it changes no result.
struct SparseAgreed {
  std::vector<int64_t> cuts = {};  // P + 1 from 0 to n, or empty: the regions are to be cut
  uint32_t global_key = 0;         // the last threshold of the sum's; 0: to be found. Alike on all
  uint32_t local_key = 0;          // this member's own; 0: to be found
  int64_t steps = 0;               // committed since BeginGroup

  friend bool operator==(const SparseAgreed&, const SparseAgreed&) = default;
};

// Of what should be alike on all members: equal for equal values, never 0 if there are cuts, 0 if
// there are none.
uint64_t DigestOf(const SparseAgreed& agreed);

// For checkpoints: integers, version first. Decoding refuses with DataLoss what no Encode gave for
// a vector of `size` elements.
std::vector<int64_t> EncodeAgreed(const SparseAgreed& agreed);
absl::StatusOr<SparseAgreed> DecodeAgreed(std::span<const int64_t> encoded, int64_t size);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_AGREED_H_
