// The order of an epoch's samples: pure, the same on every machine.
#ifndef RONDO_WORKER_CORE_PERMUTATION_H_
#define RONDO_WORKER_CORE_PERMUTATION_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace rondo {

// Position -> sample, for `size` samples: Fisher-Yates from i = size-1 down to 1, swapping [i] with
// [j], j = high 64 bits of u*(i+1) in 128-bit arithmetic, u from SplitMix64 started at
// Mix64(Mix64(seed) + epoch). Cost: O(size) time, 8 bytes a sample.
std::vector<int64_t> ComputeEpochOrder(uint64_t seed, int64_t epoch, int64_t size);

// The orders of the epochs in use. Threads: one. Memory: at most `kept` orders of 8*size bytes.
class EpochOrders {
 public:
  // Without `shuffle` every order is the identity and nothing is stored. `kept` >= 1.
  EpochOrders(uint64_t seed, int64_t size, bool shuffle, int kept = 2);

  // The sample at `position` in [0, size) of `epoch` >= 0.
  int64_t Sample(int64_t epoch, int64_t position);
  int64_t size() const { return size_; }

 private:
  struct Entry {
    int64_t epoch;
    std::vector<int64_t> order;
  };

  const uint64_t seed_;
  const int64_t size_;
  const bool shuffle_;
  const size_t kept_;
  std::list<Entry> entries_;  // The one used last is first.
};

}  // namespace rondo

#endif  // RONDO_WORKER_CORE_PERMUTATION_H_
