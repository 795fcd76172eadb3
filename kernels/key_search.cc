#include "kernels/key_search.h"

#include <algorithm>
#include <limits>

namespace rondo {

void KeySearch::Narrow(std::span<const uint64_t> bins) {
  const KeyLevel level = this->level();
  const bool last = level_ == kKeyLevelCount - 1;
  // The lowest bin of all is where a search ends that finds too few.
  const int lowest = last && prefix_ == 0 ? 1 : 0;
  int bin = BinsOf(level) - 1;
  while (bin > lowest && bins[bin] < static_cast<uint64_t>(wanted_)) {
    above_ += bins[bin];
    wanted_ -= static_cast<int64_t>(bins[bin]);
    --bin;
  }
  in_bin_ = bins[bin];
  prefix_ = (prefix_ << level.bits) | static_cast<uint32_t>(bin);
  ++level_;
}

uint32_t KeySearch::floor() const {
  if (level_ == 0) return 1;
  return std::max<uint32_t>(1, prefix_ << kKeyLevels[level_ - 1].shift);
}

KeyCut KeySearch::cut() const { return {.key = prefix_, .ties = wanted_}; }

}  // namespace rondo
