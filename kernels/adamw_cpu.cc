#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "kernels/adamw.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"

namespace rondo {
namespace {

struct AdamwLoop {
  AdamwParams params;
  AdamwTensors tensors;

  RONDO_CPU_LOOP void operator()() const {
    const AdamwParams p = params;  // Copies: a store through a span can't alias them.
    const AdamwTensors t = tensors;
    ForEachElement(
        t.weight.size, [&](int64_t i) RONDO_CPU_LAMBDA { AdamwAt(p, t, i); }, t.weight.data,
        t.grad.data, t.first_moment.data, t.second_moment.data);
  }
};

}  // namespace

absl::Status Adamw(const AdamwParams& params, const AdamwTensors& tensors) {
  RETURN_IF_ERROR(CheckSpans("adamw", {{"weight", tensors.weight},
                                       {"grad", tensors.grad},
                                       {"first_moment", tensors.first_moment},
                                       {"second_moment", tensors.second_moment}}));
  if (tensors.weight.device.kind == DeviceKind::kCuda) return AdamwCuda(params, tensors);
  RunCpuLoop(AdamwLoop{params, tensors});
  return absl::OkStatus();
}

}  // namespace rondo
