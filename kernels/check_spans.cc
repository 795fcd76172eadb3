#include "kernels/check_spans.h"

#include <fmt/format.h>

namespace rondo {
namespace {

std::string_view NameOf(DeviceKind kind) { return kind == DeviceKind::kCpu ? "cpu" : "cuda"; }

}  // namespace

absl::Status CheckSpans(std::string_view kernel, std::initializer_list<NamedSpan> spans) {
  const NamedSpan& first = *spans.begin();
  for (const NamedSpan& each : spans) {
    if (each.span.size < 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}: `{}` has size {}; sizes start at 0", kernel, each.name, each.span.size));
    }
    if (each.span.size != first.span.size) {
      return absl::InvalidArgumentError(
          fmt::format("{}: `{}` has {} elements and `{}` has {}; give spans of one size", kernel,
                      each.name, each.span.size, first.name, first.span.size));
    }
    if (each.span.size > 0 && each.span.data == nullptr) {
      return absl::InvalidArgumentError(fmt::format("{}: `{}` has {} elements at a null pointer",
                                                    kernel, each.name, each.span.size));
    }
    const Device& device = each.span.device;
    if (device.kind != first.span.device.kind || device.index != first.span.device.index) {
      return absl::InvalidArgumentError(
          fmt::format("{}: `{}` lies on {}:{} and `{}` on {}:{}; copy them to one device first",
                      kernel, each.name, NameOf(device.kind), device.index, first.name,
                      NameOf(first.span.device.kind), first.span.device.index));
    }
  }
  return absl::OkStatus();
}

}  // namespace rondo
