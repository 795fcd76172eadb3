// The first half of a sparse all-reduce: each rank sends every other one the entries of that one's
// region and sums what it gets for its own.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPLIT_REDUCE_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPLIT_REDUCE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"

namespace rondo {

struct SplitInput {
  DeviceSpan<const SparseEntry> entries;  // this rank's, ascending
  std::span<const int64_t> to_each;    // entries for each rank; they follow each other in the list
  std::span<const int64_t> from_each;  // what each rank has for this one
  int64_t region_begin = 0;            // of this rank
  int64_t region_end = 0;
  // At most so many pieces are on their way from a rank at a time, in rotation: to rank me+1,
  // me+2, ... 0: all at once. The same on every rank; changes no result.
  int window = 0;
};

// Memory that is kept from step to step.
struct SplitMemory {
  SparseEntries pieces;  // in rank order; the sum at the front when done
  SparseEntries scratch;
};

// Returns how many entries the sum of this rank's region has: ascending, each summed in rank order
// 0..P-1, sums equal to 0 left out; they lie at the front of memory->pieces. Errors: the
// communicator's; InvalidArgument if a piece has an index outside the region.
absl::StatusOr<int64_t> SplitReduce(Communicator* group, const CallId& call,
                                    const SplitInput& input, absl::Duration timeout,
                                    SplitMemory* memory);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPLIT_REDUCE_H_
