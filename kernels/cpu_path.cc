#include "kernels/cpu_path.h"

#include <algorithm>
#include <atomic>

namespace rondo {
namespace {

std::atomic<CpuPath>& Active() {
  static std::atomic<CpuPath> active(BestCpuPath());
  return active;
}

}  // namespace

std::string_view NameOf(CpuPath path) {
  switch (path) {
    case CpuPath::kAvx512:
      return "avx512";
    case CpuPath::kAvx2:
      return "avx2";
    case CpuPath::kBaseline:
      break;
  }
  return "baseline";
}

CpuPath ActiveCpuPath() { return Active().load(std::memory_order_relaxed); }

ScopedCpuPath::ScopedCpuPath(CpuPath path)
    : before_(Active().exchange(std::min(path, BestCpuPath()))) {}

ScopedCpuPath::~ScopedCpuPath() { Active().store(before_); }

}  // namespace rondo
