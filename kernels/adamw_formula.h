// AdamW: its arguments and its per-element formula, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_ADAMW_FORMULA_H_
#define RONDO_KERNELS_ADAMW_FORMULA_H_

#include <cmath>
#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/span.h"

namespace rondo {

// One step's constants, all derived from the user's numbers in double and rounded once: made by
// MakeAdamwParams.
struct AdamwParams {
  float decay = 0;  // learning_rate * weight_decay
  float beta1 = 0;
  float one_minus_beta1 = 0;
  float beta2 = 0;
  float one_minus_beta2 = 0;
  float step_size = 0;           // learning_rate / (1 - beta1^step)
  float inverse_sqrt_bias2 = 0;  // 1 / sqrt(1 - beta2^step)
  float eps = 0;
};

// Four spans of one size on one device, not overlapping. Both moments start at zero;
// `second_moment` is never negative.
struct AdamwTensors {
  DeviceSpan<float> weight;
  DeviceSpan<const float> grad;
  DeviceSpan<float> first_moment;
  DeviceSpan<float> second_moment;
};

HOST_DEVICE void AdamwAt(const AdamwParams& p, const AdamwTensors& t, int64_t i) {
  const float g = t.grad.data[i];
  const float w = t.weight.data[i] - p.decay * t.weight.data[i];
  const float m = p.beta1 * t.first_moment.data[i] + p.one_minus_beta1 * g;
  const float s = p.beta2 * t.second_moment.data[i] + p.one_minus_beta2 * (g * g);
  t.first_moment.data[i] = m;
  t.second_moment.data[i] = s;
  const float denominator = sqrtf(s) * p.inverse_sqrt_bias2 + p.eps;
  t.weight.data[i] = w - p.step_size * (m / denominator);
}

}  // namespace rondo

#endif  // RONDO_KERNELS_ADAMW_FORMULA_H_
