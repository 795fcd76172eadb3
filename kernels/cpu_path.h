// Runs a kernel's CPU loop with the widest vector instructions that this processor has. A loop is a
// struct whose `operator()() const`, marked RONDO_CPU_LOOP, takes no argument; it's compiled once
// for the baseline (SSE2 on x86-64), once for AVX2 and once for AVX-512. No path fuses multiply and
// add (.bazelrc), so all give the same bits. Threads: any. The path is chosen once; only
// ScopedCpuPath changes it.
#ifndef RONDO_KERNELS_CPU_PATH_H_
#define RONDO_KERNELS_CPU_PATH_H_

#include <string_view>

#define RONDO_CPU_LOOP inline __attribute__((always_inline))

// Which processors a path needs stands in BestCpuPath.
#if defined(__x86_64__)
#define RONDO_TARGET_AVX2 __attribute__((target("avx2"), noinline))
#define RONDO_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl"), noinline))
#else
#define RONDO_TARGET_AVX2 __attribute__((noinline))
#define RONDO_TARGET_AVX512 __attribute__((noinline))
#endif

namespace rondo {

// From narrow to wide: a processor that has one has those before it.
enum class CpuPath { kBaseline, kAvx2, kAvx512 };

// "baseline", "avx2", "avx512".
std::string_view NameOf(CpuPath path);

// The widest path of this processor, whatever a ScopedCpuPath has set.
inline CpuPath BestCpuPath() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return CpuPath::kAvx512;
  }
  if (__builtin_cpu_supports("avx2")) return CpuPath::kAvx2;
#endif
  return CpuPath::kBaseline;
}

// The path that kernels take now.
CpuPath ActiveCpuPath();

// For tests and benchmarks: while it lives, kernels of this process take `path`, or the best one if
// that is narrower.
class ScopedCpuPath {
 public:
  explicit ScopedCpuPath(CpuPath path);
  ~ScopedCpuPath();
  ScopedCpuPath(const ScopedCpuPath&) = delete;
  ScopedCpuPath& operator=(const ScopedCpuPath&) = delete;

 private:
  const CpuPath before_;
};

template <typename Loop>
__attribute__((noinline)) auto RunBaseline(const Loop& loop) {
  return loop();
}

template <typename Loop>
RONDO_TARGET_AVX2 auto RunAvx2(const Loop& loop) {
  return loop();
}

template <typename Loop>
RONDO_TARGET_AVX512 auto RunAvx512(const Loop& loop) {
  return loop();
}

template <typename Loop>
auto RunCpuLoop(const Loop& loop) {
  switch (ActiveCpuPath()) {
    case CpuPath::kAvx512:
      return RunAvx512(loop);
    case CpuPath::kAvx2:
      return RunAvx2(loop);
    case CpuPath::kBaseline:
      break;
  }
  return RunBaseline(loop);
}

}  // namespace rondo

#endif  // RONDO_KERNELS_CPU_PATH_H_
