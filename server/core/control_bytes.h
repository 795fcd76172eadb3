// The integers that a sparse sync sends beside its entries: what members tell each other before
// any value travels, the histograms that find the threshold, and now and then the one that cuts the
// regions. As worker/collectives/sparse sends them in mode `exact`; mode `threshold` sends less.
// Not in it: 4 bytes a peer and tensor of the model in parallel mode. tests/e2e/sparse_test holds
// the plan beside a run. Pure.
#ifndef RONDO_SERVER_CORE_CONTROL_BYTES_H_
#define RONDO_SERVER_CORE_CONTROL_BYTES_H_

#include <cstdint>

namespace rondo {

// All-reduces of integers are by recursive doubling: ceil(log2 P) messages that wait for one
// another (a folded pair, when P is no power of two, waits for one more). 0 for one member.
int DoublingMessages(int64_t workers);

// Sent by a member in a sync of `parameters` values, on average over members and syncs, in bytes.
// 0 for one member.
int64_t SparseControlBytesPerSync(int64_t workers, int64_t parameters);
// By any member in any sync.
int64_t SparseControlBytesMost(int64_t workers, int64_t parameters);
// All-gather of everybody's top k: the notices alone.
int64_t GatherControlBytesPerSync(int64_t workers);

// What one member sends after another for a sync, for the time that they take: the histograms of
// the threshold in each message of the doubling, and the notices. The cuts, one sync in 64, are
// not in it.
int64_t SparseControlBytesInTurn(int64_t workers);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_CONTROL_BYTES_H_
