#include "worker/core/redial.h"

#include <algorithm>

namespace rondo::worker {

absl::Duration RedialPauses::Next() {
  const uint32_t failures = failures_++;
  if (failures == 0) return absl::ZeroDuration();
  const absl::Duration whole = std::min(
      absl::Milliseconds(50) * (1 << std::min<uint32_t>(failures - 1, 6)), kRedialPauseMax);
  const uint64_t share = 750 + jitter_.Below(251);  // Thousandths.
  return whole * static_cast<int64_t>(share) / 1000;
}

}  // namespace rondo::worker
