// The Communicator over TCP: checks arguments, keeps the broken state, and writes each call as an
// exchange.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_TCP_COMMUNICATOR_H_
#define RONDO_WORKER_COLLECTIVES_TCP_TCP_COMMUNICATOR_H_

#include <memory>

#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/exchange.h"

namespace rondo {

// `exchange` has at least 2 ranks. All-reduce of floats goes by recursive doubling up to
// `doubling_bytes_max`, a broadcast goes straight to all up to there; the same value on every rank.
std::unique_ptr<Communicator> MakeTcpCommunicator(std::unique_ptr<Exchange> exchange,
                                                  int64_t doubling_bytes_max);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_TCP_COMMUNICATOR_H_
