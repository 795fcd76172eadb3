// SGD: its arguments and its per-element formula, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_SGD_FORMULA_H_
#define RONDO_KERNELS_SGD_FORMULA_H_

#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/span.h"

namespace rondo {

struct SgdParams {
  float learning_rate = 0;
  float momentum = 0;      // 0: the velocity is neither read nor written
  float weight_decay = 0;  // L2: added to the gradient
  bool nesterov = false;   // needs momentum > 0
};

// Three spans of one size on one device, not overlapping. `velocity` starts at zero; with momentum
// 0 it may be empty.
struct SgdTensors {
  DeviceSpan<float> weight;
  DeviceSpan<const float> grad;
  DeviceSpan<float> velocity;
};

template <bool kMomentum, bool kNesterov>
HOST_DEVICE void SgdAt(const SgdParams& p, const SgdTensors& t, int64_t i) {
  const float w = t.weight.data[i];
  float d = t.grad.data[i] + p.weight_decay * w;
  if constexpr (kMomentum) {
    const float v = p.momentum * t.velocity.data[i] + d;
    t.velocity.data[i] = v;
    d = kNesterov ? d + p.momentum * v : v;
  }
  t.weight.data[i] = w - p.learning_rate * d;
}

}  // namespace rondo

#endif  // RONDO_KERNELS_SGD_FORMULA_H_
