// The k-th largest key over the lists of all ranks, found by sums of integer histograms.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_GLOBAL_CUT_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_GLOBAL_CUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kernels/key_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// What all ranks together take: the first min(k, all) entries in the order of select.h. `ties`
// counts over all ranks. Lists hold no zeros; lower ranks hold lower indices. Cost: 3 small
// all-reduces (2,048, 1,024 and 1,024 integers), 1 if there are at most k entries. Errors: the
// communicator's.
absl::StatusOr<KeyCut> FindGlobalCut(Communicator* group, const CallId& call,
                                     DeviceSpan<const SparseEntry> entries, int64_t k,
                                     absl::Duration timeout);

// What `cut` takes of each rank, ties going to lower ranks first.
struct CutShares {
  KeyCut mine;                 // for KeepCut
  std::vector<int64_t> sizes;  // of each rank's part
  int64_t total = 0;
};
// Cost: one all-gather of 16 bytes a rank. Errors: the communicator's; InvalidArgument for counts
// that no list has.
absl::StatusOr<CutShares> ShareCut(Communicator* group, const CallId& call,
                                   DeviceSpan<const SparseEntry> entries, const KeyCut& cut,
                                   absl::Duration timeout);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_GLOBAL_CUT_H_
