#include <cstdint>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"
#include "kernels/state_hash.h"
#include "kernels/state_hash_formula.h"

namespace rondo {
namespace {

struct HashLoop {
  DeviceSpan<const float> x;
  uint64_t first_index;

  RONDO_CPU_LOOP uint64_t operator()() const {
    const float* values = x.data;
    const uint64_t first = first_index;
    uint64_t sum = 0;
    const auto add = [&](int64_t i) RONDO_CPU_LAMBDA {
      sum += StateHashAt(first + static_cast<uint64_t>(i), values[i]);
    };
    ForEachElement(x.size, add, values);
    return sum;
  }
};

}  // namespace

absl::StatusOr<uint64_t> StateHash(DeviceSpan<const float> x, uint64_t first_index) {
  RETURN_IF_ERROR(CheckSpans("state_hash", {{"x", x}}));
  if (x.device.kind == DeviceKind::kCuda) return StateHashCuda(x, first_index);
  return RunCpuLoop(HashLoop{x, first_index});
}

}  // namespace rondo
