// What every kernel asks of its arguments before it touches memory.
#ifndef RONDO_KERNELS_CHECK_SPANS_H_
#define RONDO_KERNELS_CHECK_SPANS_H_

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/span.h"

namespace rondo {

// A kernel's argument under the name that its header gives it.
struct NamedSpan {
  std::string_view name;
  DeviceSpan<const float> span;
};

// InvalidArgument, with the kernel, the argument and both values, unless all spans have one size
// (not negative), lie on one device, and point somewhere when the size is not 0. `spans` is not
// empty.
absl::Status CheckSpans(std::string_view kernel, std::initializer_list<NamedSpan> spans);

}  // namespace rondo

#endif  // RONDO_KERNELS_CHECK_SPANS_H_
