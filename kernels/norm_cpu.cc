#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"
#include "kernels/norm.h"

namespace rondo {
namespace {

struct SquaresLoop {
  DeviceSpan<const float> x;

  RONDO_CPU_LOOP double operator()() const {
    const float* values = x.data;
    const int64_t size = x.size;
    const int64_t whole = size - size % kNormLanes;
    double lanes[kNormLanes] = {};
    for (int64_t i = 0; i < whole; i += kNormLanes) {
      if (i % kBlock == 0) PrefetchAhead(values + i, size - i);
      for (int lane = 0; lane < kNormLanes; ++lane) lanes[lane] += SquareOf(values[i + lane]);
    }
    for (int64_t i = whole; i < size; ++i) lanes[i - whole] += SquareOf(values[i]);
    for (int half = kNormLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
  }
};

struct LargestMagnitudeLoop {
  DeviceSpan<const float> x;

  RONDO_CPU_LOOP int32_t operator()() const {
    const float* values = x.data;
    int32_t largest = 0;
    const auto take = [&](int64_t i) RONDO_CPU_LAMBDA {
      largest = std::max(largest, MagnitudeBits(values[i]));
    };
    ForEachElement(x.size, take, values);
    return largest;
  }
};

}  // namespace

absl::StatusOr<Norm> ComputeNorm(DeviceSpan<const float> x) {
  RETURN_IF_ERROR(CheckSpans("norm", {{"x", x}}));
  if (x.device.kind == DeviceKind::kCuda) return ComputeNormCuda(x);
  // Squares of finite floats are below 1.2e77 and not negative: their sum is finite if and only if
  // all of them are.
  const double squared = RunCpuLoop(SquaresLoop{x});
  return Norm{.squared = squared, .finite = std::isfinite(squared)};
}

absl::StatusOr<bool> IsFinite(DeviceSpan<const float> x) {
  RETURN_IF_ERROR(CheckSpans("is_finite", {{"x", x}}));
  if (x.device.kind == DeviceKind::kCuda) return IsFiniteCuda(x);
  return RunCpuLoop(LargestMagnitudeLoop{x}) < kInfinityBits;
}

}  // namespace rondo
