// The arguments and per-element formulas of accumulate.h, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_ACCUMULATE_FORMULA_H_
#define RONDO_KERNELS_ACCUMULATE_FORMULA_H_

#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/span.h"

namespace rondo {

// All three of one size on one device.
struct BinaryTensors {
  DeviceSpan<const float> left;
  DeviceSpan<const float> right;
  DeviceSpan<float> result;
};

// Each formula gives an element of the result from an element of `left` and of `right`.
struct SumFormula {
  HOST_DEVICE float operator()(float left, float right) const { return left + right; }
};
struct DifferenceFormula {
  HOST_DEVICE float operator()(float left, float right) const { return left - right; }
};
struct SumScaledFormula {
  float scale;  // of right
  HOST_DEVICE float operator()(float left, float right) const { return left + scale * right; }
};
// Of one operand.
struct ScaledFormula {
  float scale;
  HOST_DEVICE float operator()(float value) const { return scale * value; }
};

}  // namespace rondo

#endif  // RONDO_KERNELS_ACCUMULATE_FORMULA_H_
