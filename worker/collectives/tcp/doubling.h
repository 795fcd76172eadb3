// All-reduce of small data: recursive doubling (Thakur, Rabenseifner, Gropp, "Optimization of
// Collective Communication Operations in MPICH", IJHPCA 19(1), 2005), folded for a P that is no
// power of two.
//
// With Q the largest power of two <= P and E = P - Q: ranks 2i+1 < 2E first give their part to rank
// 2i, which adds it, and at the end get the result back. The Q ranks left, numbered 0..Q-1 in rank
// order, exchange all they have with the one whose number differs in bit 0, then bit 1, ... Every
// sum is written (part of the lower ranks) + (part of the higher ranks), so both partners hold the
// same bytes, and so do all ranks: a balanced tree over the ranks in order. Cost: log2(Q) rounds of
// n elements (2 more at a folded pair).
#ifndef RONDO_WORKER_COLLECTIVES_TCP_DOUBLING_H_
#define RONDO_WORKER_COLLECTIVES_TCP_DOUBLING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/exchange.h"

namespace rondo {

class DoublingAllReduce {
 public:
  // Borrows `exchange`, of at least 2 ranks.
  explicit DoublingAllReduce(Exchange* exchange) : exchange_(*exchange) {}

  // Sum in place; integers modulo 2^64. Errors: as Exchange::Run.
  absl::Status Sum(const CallId& call, std::span<float> data, Deadline deadline);
  absl::Status Sum(const CallId& call, std::span<uint64_t> data, Deadline deadline);

 private:
  template <typename T>
  absl::Status SumOf(const ExchangeCall& call, std::span<T> data);
  // Sends `data` and receives the partner's into `theirs_`.
  template <typename T>
  absl::Status Swap(const ExchangeCall& call, int partner, std::span<T> data);

  Exchange& exchange_;
  std::vector<uint64_t> theirs_;  // kept between calls: small sums come often
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_DOUBLING_H_
