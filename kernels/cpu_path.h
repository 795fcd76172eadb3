// Runs a kernel's CPU loop with the widest vector instructions that this processor has. A loop is a
// struct whose `operator()() const`, marked RONDO_CPU_LOOP, takes no argument; it's compiled once
// for the baseline (SSE2 on x86-64) and once for AVX2. Neither path fuses multiply and add, so both
// give the same bits. Threads: any. The path is chosen once; only ScopedCpuPathForTest changes it.
#ifndef RONDO_KERNELS_CPU_PATH_H_
#define RONDO_KERNELS_CPU_PATH_H_

#define RONDO_CPU_LOOP inline __attribute__((always_inline))

#if defined(__x86_64__)
#define RONDO_TARGET_AVX2 __attribute__((target("avx2"), noinline))
#else
#define RONDO_TARGET_AVX2 __attribute__((noinline))
#endif

namespace rondo {

inline bool ProcessorHasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

enum class CpuPath { kBaseline, kAvx2 };

// The best path of this processor, whatever a test has set.
CpuPath BestCpuPath();
// The path that kernels take now: the best one, unless a test holds another.
CpuPath ActiveCpuPath();

// While it lives, kernels of this process take `path`, which must not be better than BestCpuPath().
class ScopedCpuPathForTest {
 public:
  explicit ScopedCpuPathForTest(CpuPath path);
  ~ScopedCpuPathForTest();
  ScopedCpuPathForTest(const ScopedCpuPathForTest&) = delete;
  ScopedCpuPathForTest& operator=(const ScopedCpuPathForTest&) = delete;

 private:
  const CpuPath before_;
};

template <typename Loop>
RONDO_TARGET_AVX2 auto RunAvx2(const Loop& loop) {
  return loop();
}

template <typename Loop>
__attribute__((noinline)) auto RunBaseline(const Loop& loop) {
  return loop();
}

template <typename Loop>
auto RunCpuLoop(const Loop& loop) {
  return ActiveCpuPath() == CpuPath::kAvx2 ? RunAvx2(loop) : RunBaseline(loop);
}

}  // namespace rondo

#endif  // RONDO_KERNELS_CPU_PATH_H_
