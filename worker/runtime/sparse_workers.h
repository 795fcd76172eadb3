// For tests: TestWorkers whose orders are sparse.
#ifndef RONDO_WORKER_RUNTIME_SPARSE_WORKERS_H_
#define RONDO_WORKER_RUNTIME_SPARSE_WORKERS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "worker/runtime/test_workers.h"

namespace rondo::worker {

using Floats = std::vector<float>;

// In double.
inline double SquaredNorm(const Floats& x) {
  double sum = 0;
  for (const float e : x) sum += double{e} * e;
  return sum;
}

inline std::vector<double> Equal(int members) { return std::vector<double>(members, 2.0); }

struct SparseWorkers : TestWorkers {
  explicit SparseWorkers(const std::vector<QuadraticOptions>& options,
                         Collective used = Collective::kSparse,
                         std::shared_ptr<KeptFiles> files = std::make_shared<KeptFiles>())
      : TestWorkers(options, std::move(files)) {
    collective = used;
  }
  explicit SparseWorkers(int members, const QuadraticOptions& options = {},
                         Collective used = Collective::kSparse,
                         std::shared_ptr<KeptFiles> files = std::make_shared<KeptFiles>())
      : SparseWorkers(std::vector<QuadraticOptions>(static_cast<size_t>(members), options), used,
                      std::move(files)) {}

  std::vector<Floats> Residuals() {
    std::vector<Floats> residuals;
    for (int rank = 0; rank < size(); ++rank) residuals.push_back(ResidualOf(rank));
    return residuals;
  }
  std::vector<Floats> Parameters() {
    std::vector<Floats> parameters;
    for (int rank = 0; rank < size(); ++rank) parameters.push_back((*this)[rank].parameters());
    return parameters;
  }
  // A round and its commit; the hash of each member's result.
  std::vector<uint64_t> Round(uint64_t round, Mode mode, uint64_t first_step, uint64_t length,
                              uint64_t group = 1) {
    std::vector<uint64_t> hashes;
    const std::vector<Ready> ready = Train(group, round, mode, first_step, length);
    if (mode == Mode::kParallel) {
      for (const Ready& each : ready) hashes.push_back(each.reduced.state_hash);
    } else {
      for (const Reduced& each : ReduceAll(group, round, Equal(size()))) {
        hashes.push_back(each.reduced.state_hash);
      }
    }
    Apply(group, round, mode == Mode::kLocal ? 1 : 0);
    return hashes;
  }
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_SPARSE_WORKERS_H_
