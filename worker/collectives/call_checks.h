// What every backend refuses before it sends a byte: arguments that no peer could answer.
// Errors: InvalidArgument, with the argument, what it is and what is allowed. Such a call breaks
// the group like any other failure, because the peers are already in it.
#ifndef RONDO_WORKER_COLLECTIVES_CALL_CHECKS_H_
#define RONDO_WORKER_COLLECTIVES_CALL_CHECKS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/collectives/communicator.h"

namespace rondo {

absl::Status CheckTimeout(absl::Duration timeout);

// `rank` is in [0, ranks) and, where `self` >= 0, is not `self`.
absl::Status CheckPeer(const char* argument, int rank, int ranks, int self = -1);

// One size for each of `ranks`, none negative, sizes[rank] == mine, sum == all.
absl::Status CheckGatherSizes(std::span<const int64_t> sizes, int ranks, int rank, int64_t mine,
                              int64_t all);

// One span a rank on each side; the own pieces have the same size.
absl::Status CheckAllToAll(std::span<const ConstByteSpan> send, std::span<const ByteSpan> receive,
                           int ranks, int rank);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_CALL_CHECKS_H_
