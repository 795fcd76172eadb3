// Flat memory on one device: what every kernel takes and gives. A span owns nothing.
#ifndef RONDO_KERNELS_SPAN_H_
#define RONDO_KERNELS_SPAN_H_

#include <cstdint>
#include <type_traits>

namespace rondo {

enum class DeviceKind { kCpu, kCuda };

// Where memory lives and, on a GPU, the stream that work on it is queued to (a cudaStream_t; null
// on the CPU).
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  void* stream = nullptr;
};

// `size` contiguous elements at `data` on `device`. Sizes and indices are 64 bits everywhere. Size
// 0 is legal, with any pointer. Copies are shallow; const-ness is that of T.
template <typename T>
struct DeviceSpan {
  T* data = nullptr;
  int64_t size = 0;
  Device device;

  DeviceSpan() = default;
  DeviceSpan(T* data, int64_t size, Device device = {}) : data(data), size(size), device(device) {}
  // DeviceSpan<float> -> DeviceSpan<const float>.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  DeviceSpan(const DeviceSpan<U>& other)  // NOLINT: meant to convert
      : data(other.data), size(other.size), device(other.device) {}

  // Elements [first, first + count); the caller keeps to the bounds.
  DeviceSpan Sub(int64_t first, int64_t count) const { return {data + first, count, device}; }
};

}  // namespace rondo

#endif  // RONDO_KERNELS_SPAN_H_
