#include "kernels/cpu_path.h"

#include <atomic>

namespace rondo {
namespace {

std::atomic<CpuPath>& Active() {
  static std::atomic<CpuPath> active(BestCpuPath());
  return active;
}

}  // namespace

CpuPath BestCpuPath() { return ProcessorHasAvx2() ? CpuPath::kAvx2 : CpuPath::kBaseline; }

CpuPath ActiveCpuPath() { return Active().load(std::memory_order_relaxed); }

ScopedCpuPathForTest::ScopedCpuPathForTest(CpuPath path) : before_(Active().exchange(path)) {}

ScopedCpuPathForTest::~ScopedCpuPathForTest() { Active().store(before_); }

}  // namespace rondo
