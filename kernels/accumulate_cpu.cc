#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"

namespace rondo {
namespace {

template <typename Formula>
struct BinaryLoop {
  Formula formula;
  BinaryTensors tensors;

  RONDO_CPU_LOOP void operator()() const {
    const Formula f = formula;  // Copies: a store through a span can't alias them.
    const float* left = tensors.left.data;
    const float* right = tensors.right.data;
    float* result = tensors.result.data;
    ForEachElement(
        tensors.result.size, [&](int64_t i) RONDO_CPU_LAMBDA { result[i] = f(left[i], right[i]); },
        left, right, result);
  }
};

struct ScaledLoop {
  ScaledFormula formula;
  DeviceSpan<const float> src;
  DeviceSpan<float> dst;

  RONDO_CPU_LOOP void operator()() const {
    const ScaledFormula f = formula;
    const float* from = src.data;
    float* to = dst.data;
    ForEachElement(
        dst.size, [&](int64_t i) RONDO_CPU_LAMBDA { to[i] = f(from[i]); }, from, to);
  }
};

}  // namespace

absl::Status Add(DeviceSpan<float> dst, DeviceSpan<const float> src) {
  RETURN_IF_ERROR(CheckSpans("add", {{"dst", dst}, {"src", src}}));
  const BinaryTensors tensors{.left = dst, .right = src, .result = dst};
  if (dst.device.kind == DeviceKind::kCuda) return SumCuda(tensors);
  RunCpuLoop(BinaryLoop<SumFormula>{{}, tensors});
  return absl::OkStatus();
}

absl::Status AddScaled(DeviceSpan<float> dst, float scale, DeviceSpan<const float> src) {
  RETURN_IF_ERROR(CheckSpans("add_scaled", {{"dst", dst}, {"src", src}}));
  const BinaryTensors tensors{.left = dst, .right = src, .result = dst};
  if (dst.device.kind == DeviceKind::kCuda) return SumScaledCuda(tensors, scale);
  RunCpuLoop(BinaryLoop<SumScaledFormula>{{scale}, tensors});
  return absl::OkStatus();
}

absl::Status AssignScaled(DeviceSpan<float> dst, float scale, DeviceSpan<const float> src) {
  RETURN_IF_ERROR(CheckSpans("assign_scaled", {{"dst", dst}, {"src", src}}));
  if (dst.device.kind == DeviceKind::kCuda) return AssignScaledCuda(dst, scale, src);
  RunCpuLoop(ScaledLoop{{scale}, src, dst});
  return absl::OkStatus();
}

absl::Status Scale(DeviceSpan<float> dst, float scale) {
  RETURN_IF_ERROR(CheckSpans("scale", {{"dst", dst}}));
  if (dst.device.kind == DeviceKind::kCuda) return AssignScaledCuda(dst, scale, dst);
  RunCpuLoop(ScaledLoop{{scale}, dst, dst});
  return absl::OkStatus();
}

absl::Status Sum(const BinaryTensors& tensors) {
  RETURN_IF_ERROR(CheckSpans(
      "sum", {{"left", tensors.left}, {"right", tensors.right}, {"result", tensors.result}}));
  if (tensors.result.device.kind == DeviceKind::kCuda) return SumCuda(tensors);
  RunCpuLoop(BinaryLoop<SumFormula>{{}, tensors});
  return absl::OkStatus();
}

absl::Status Difference(const BinaryTensors& tensors) {
  RETURN_IF_ERROR(
      CheckSpans("difference",
                 {{"left", tensors.left}, {"right", tensors.right}, {"result", tensors.result}}));
  if (tensors.result.device.kind == DeviceKind::kCuda) return DifferenceCuda(tensors);
  RunCpuLoop(BinaryLoop<DifferenceFormula>{{}, tensors});
  return absl::OkStatus();
}

}  // namespace rondo
