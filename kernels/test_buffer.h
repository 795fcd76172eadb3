// What the kernels' tests share: memory with canaries, sizes that straddle vector, warp and block
// edges, seeded values.
#ifndef RONDO_KERNELS_TEST_BUFFER_H_
#define RONDO_KERNELS_TEST_BUFFER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/cpu_path.h"
#include "kernels/span.h"

namespace rondo {

inline constexpr int64_t kSizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 100'003};

// Floats on a device between two canaries that no kernel may touch. The first float isn't aligned
// to a vector.
class TestBuffer {
 public:
  TestBuffer(Device device, const std::vector<float>& values) : device_(device) {
    EXPECT_EQ(device.kind, DeviceKind::kCpu) << "there is no test memory on other devices yet";
    memory_.assign(kGuard, kCanary);
    memory_.insert(memory_.end(), values.begin(), values.end());
    memory_.insert(memory_.end(), kGuard, kCanary);
  }

  int64_t size() const { return static_cast<int64_t>(memory_.size()) - 2 * kGuard; }
  DeviceSpan<float> span() { return {memory_.data() + kGuard, size(), device_}; }
  std::vector<float> Values() const { return {memory_.begin() + kGuard, memory_.end() - kGuard}; }
  bool CanariesLive() const {
    const auto is_canary = [](float x) { return x == kCanary; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_canary) &&
           std::all_of(memory_.end() - kGuard, memory_.end(), is_canary);
  }

 private:
  static constexpr int kGuard = 37;
  static constexpr float kCanary = 12345.5f;
  Device device_;
  std::vector<float> memory_;
};

// `size` normal floats, the same for one seed.
inline std::vector<float> NormalFloats(int64_t size, uint32_t seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = normal(generator);
  return values;
}

// A test over device, size and, on the CPU, vector path. A path that this processor lacks is
// skipped by name.
class KernelTest : public testing::TestWithParam<std::tuple<DeviceKind, CpuPath, int64_t>> {
 protected:
  void SetUp() override {
    if (path() > BestCpuPath()) GTEST_SKIP() << "this processor has no " << NameOf(path());
  }
  Device device() const { return {.kind = std::get<0>(GetParam())}; }
  CpuPath path() const { return std::get<1>(GetParam()); }
  int64_t size() const { return std::get<2>(GetParam()); }

 private:
  ScopedCpuPath scoped_path_{std::get<1>(GetParam())};
};

inline auto AllKernelCases() {
  return testing::Combine(testing::Values(DeviceKind::kCpu),
                          testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                          testing::ValuesIn(kSizes));
}

}  // namespace rondo

#endif  // RONDO_KERNELS_TEST_BUFFER_H_
