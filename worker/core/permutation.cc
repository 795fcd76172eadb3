#include "worker/core/permutation.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <numeric>
#include <utility>
#include <vector>

#include "common/mix64.h"

namespace rondo {

std::vector<int64_t> ComputeEpochOrder(uint64_t seed, int64_t epoch, int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  SplitMix64 random(Mix64(Mix64(seed) + static_cast<uint64_t>(epoch)));
  for (int64_t i = size - 1; i >= 1; --i)
    std::swap(order[i], order[random.Below(static_cast<uint64_t>(i) + 1)]);
  return order;
}

EpochOrders::EpochOrders(uint64_t seed, int64_t size, bool shuffle, int kept)
    : seed_(seed), size_(size), shuffle_(shuffle), kept_(static_cast<size_t>(kept)) {}

int64_t EpochOrders::Sample(int64_t epoch, int64_t position) {
  if (!shuffle_) return position;
  if (entries_.empty() || entries_.front().epoch != epoch) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.epoch == epoch; });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
    } else {
      if (entries_.size() >= kept_) entries_.pop_back();
      entries_.push_front({epoch, ComputeEpochOrder(seed_, epoch, size_)});
    }
  }
  return entries_.front().order[static_cast<size_t>(position)];
}

}  // namespace rondo
