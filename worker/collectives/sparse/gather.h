// The second half of a sparse all-reduce: every rank gets the parts of all, in rank order.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_GATHER_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_GATHER_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// Deals the parts out as EvenBlocks says: each rank sends only where its part overlaps another's
// block. `block` is resized to this rank's. Errors: the communicator's.
absl::Status Rebalance(Communicator* group, const CallId& call, DeviceSpan<const SparseEntry> mine,
                       std::span<const int64_t> sizes, absl::Duration timeout,
                       SparseEntries* block);

// `all` becomes the parts one after the other; sizes[rank] entries from each. Errors: the
// communicator's.
absl::Status GatherEntries(Communicator* group, const CallId& call,
                           DeviceSpan<const SparseEntry> mine, std::span<const int64_t> sizes,
                           absl::Duration timeout, SparseEntries* all);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_GATHER_H_
