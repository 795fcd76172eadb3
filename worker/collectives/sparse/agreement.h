// What the members of a sparse reduction tell each other before any value travels: whether all can
// go on, with which weight, and how many entries each has for each.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_AGREEMENT_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_AGREEMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// One member's word to one other, on the wire as it lies in memory: 48 bytes, little-endian.
struct Notice {
  int64_t size = 0;        // of the dense vector
  int64_t k = 0;           // entries a member selects at most
  uint64_t digest = 0;     // of the cuts and thresholds that the members should share; 0: none
  int64_t entries = 0;     // that this member has for that one
  float factor = 0;        // its weight
  uint32_t is_finite = 1;  // 0: its values aren't; nobody goes on
  uint64_t settings = 0;   // digest of how the reduction is set up
};
static_assert(sizeof(Notice) == 48);

// Every rank gives `mine`, with to_each[d] as `entries` for rank d, and gets what each rank had for
// it, in rank order. `extras`, as many on every rank, travel behind it and become their sums in
// rank order. Errors: the communicator's.
absl::StatusOr<std::vector<Notice>> ExchangeNotices(Communicator* group, const CallId& call,
                                                    const Notice& mine,
                                                    std::span<const int64_t> to_each,
                                                    std::span<float> extras,
                                                    absl::Duration timeout);

// OK, or why nobody goes on. A function of what all ranks see alike (sizes, k, finiteness,
// weights), so each returns the same error: InvalidArgument if size, k or settings differ, DataLoss
// if values aren't finite or no weight is positive.
absl::Status CheckNotices(std::span<const Notice> notices, const CallId& call);

// Sum of the weights in rank order.
float FactorSum(std::span<const Notice> notices);

// Whether all hold the same cuts and thresholds, and any at all.
bool DigestsAgree(std::span<const Notice> notices);

// InvalidArgument unless each rank announces between 0 and k entries: what is received next is as
// long as this says.
absl::Status CheckEntryCounts(std::span<const int64_t> counts, int64_t k);

// DataLoss if an entry of the result isn't finite, although all members' values are. A function of
// what all ranks see alike.
absl::Status CheckSums(DeviceSpan<const SparseEntry> entries, const CallId& call);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_AGREEMENT_H_
