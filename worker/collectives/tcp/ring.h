// All-reduce of large float data: the bandwidth-optimal ring (reduce-scatter, then all-gather) of
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
// 69(2), 2009.
//
// The data are cut into P chunks, chunk c = elements [n*c/P, n*(c+1)/P). Chunk c starts at rank c
// and walks c+1, c+2, ..., c-1, each adding its own part, then the sum walks on to all. So chunk c
// is
//     ((x[c] + x[c+1]) + x[c+2]) + ... + x[c-1]          (ranks modulo P)
// on every rank, whatever arrives when. Each rank sends 2(P-1)/P * n elements (within P of it when
// P does not divide n) and 2(P-1) headers, and bytes of a chunk pass on while the rest of it still
// arrives.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_RING_H_
#define RONDO_WORKER_COLLECTIVES_TCP_RING_H_

#include "absl/status/status.h"
#include "kernels/span.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/exchange.h"

namespace rondo {

// Sums `data` in place over the exchange's ranks, at least 2 of them. Errors: as Exchange::Run.
absl::Status RingAllReduce(Exchange& exchange, const CallId& call, DeviceSpan<float> data,
                           Deadline deadline);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_RING_H_
