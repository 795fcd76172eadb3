#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"
#include "kernels/sgd.h"

namespace rondo {
namespace {

template <bool kMomentum, bool kNesterov>
struct SgdLoop {
  SgdParams params;
  SgdTensors tensors;

  RONDO_CPU_LOOP void operator()() const {
    const SgdParams p = params;  // Copies: a store through a span can't alias them.
    const SgdTensors t = tensors;
    const auto at = [&](int64_t i) RONDO_CPU_LAMBDA { SgdAt<kMomentum, kNesterov>(p, t, i); };
    if constexpr (kMomentum) {
      ForEachElement(t.weight.size, at, t.weight.data, t.grad.data, t.velocity.data);
    } else {
      ForEachElement(t.weight.size, at, t.weight.data, t.grad.data);
    }
  }
};

absl::Status Check(const SgdParams& params, const SgdTensors& t) {
  if (params.momentum == 0) {
    if (params.nesterov) {
      return absl::InvalidArgumentError(
          "sgd: Nesterov with momentum 0; give a positive momentum or turn Nesterov off");
    }
    return CheckSpans("sgd", {{"weight", t.weight}, {"grad", t.grad}});
  }
  return CheckSpans("sgd", {{"weight", t.weight}, {"grad", t.grad}, {"velocity", t.velocity}});
}

void SgdCpu(const SgdParams& params, const SgdTensors& tensors) {
  if (params.momentum == 0) {
    RunCpuLoop(SgdLoop<false, false>{params, tensors});
  } else if (params.nesterov) {
    RunCpuLoop(SgdLoop<true, true>{params, tensors});
  } else {
    RunCpuLoop(SgdLoop<true, false>{params, tensors});
  }
}

}  // namespace

absl::Status Sgd(const SgdParams& params, const SgdTensors& tensors) {
  RETURN_IF_ERROR(Check(params, tensors));
  if (tensors.weight.device.kind == DeviceKind::kCuda) return SgdCuda(params, tensors);
  SgdCpu(params, tensors);
  return absl::OkStatus();
}

}  // namespace rondo
