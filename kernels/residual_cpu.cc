#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/status_macros.h"
#include "kernels/check_entries.h"
#include "kernels/check_spans.h"
#include "kernels/cuda_twins.h"
#include "kernels/residual.h"

namespace rondo {
namespace {

// Ascending unique indices below `size`: what the loops below rely on, and what lists that came
// over the network must show first.
absl::Status CheckOrder(std::string_view kernel, std::string_view name,
                        DeviceSpan<const SparseEntry> entries, int64_t size) {
  RETURN_IF_ERROR(CheckEntries(kernel, name, entries));
  bool right = entries.size == 0 || entries.data[entries.size - 1].index < size;
  for (int64_t i = 1; i < entries.size; ++i) {
    right &= entries.data[i - 1].index < entries.data[i].index;
  }
  if (right) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: `{}` is not a list of ascending indices below {}", kernel, name, size));
}

}  // namespace

absl::Status ClearDelivered(DeviceSpan<float> x, DeviceSpan<const SparseEntry> given,
                            DeviceSpan<const SparseEntry> taken) {
  RETURN_IF_ERROR(CheckSpans("clear_delivered", {{"x", x}}));
  if (x.device.kind == DeviceKind::kCuda) return ClearDeliveredCuda(x, given, taken);
  RETURN_IF_ERROR(CheckOrder("clear_delivered", "given", given, x.size));
  RETURN_IF_ERROR(CheckOrder("clear_delivered", "taken", taken, x.size));
  int64_t g = 0;
  int64_t t = 0;
  while (g < given.size && t < taken.size) {
    const uint32_t left = given.data[g].index;
    const uint32_t right = taken.data[t].index;
    if (left == right) x.data[left] = 0;
    g += left <= right;
    t += right <= left;
  }
  return absl::OkStatus();
}

absl::Status ExpandQuotients(DeviceSpan<const SparseEntry> entries, float divisor,
                             DeviceSpan<float> x) {
  RETURN_IF_ERROR(CheckSpans("expand_quotients", {{"x", x}}));
  if (divisor == 0) {
    return absl::InvalidArgumentError("expand_quotients: the divisor is 0; nobody took part");
  }
  if (x.device.kind == DeviceKind::kCuda) return ExpandQuotientsCuda(entries, divisor, x);
  RETURN_IF_ERROR(CheckOrder("expand_quotients", "entries", entries, x.size));
  std::fill(x.data, x.data + x.size, 0.0f);
  for (int64_t i = 0; i < entries.size; ++i) {
    x.data[entries.data[i].index] = entries.data[i].value / divisor;
  }
  return absl::OkStatus();
}

}  // namespace rondo
