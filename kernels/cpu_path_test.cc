#include "kernels/cpu_path.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cpu_stream.h"

namespace rondo {
namespace {

struct CountVisits {
  std::vector<float>* visits;

  RONDO_CPU_LOOP void operator()() const {
    float* const data = visits->data();
    ForEachElement(
        static_cast<int64_t>(visits->size()), [&](int64_t i) RONDO_CPU_LAMBDA { data[i] += 1; },
        data);
  }
};

class CpuPathTest : public testing::TestWithParam<CpuPath> {};

TEST_P(CpuPathTest, EveryElementIsVisitedOnce) {
  if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this processor has no " << NameOf(GetParam());
  const ScopedCpuPath scope(GetParam());
  EXPECT_EQ(ActiveCpuPath(), GetParam());
  for (const int64_t size :
       {int64_t{0}, kBlock - 1, kBlock, kBlock + 1, kPrefetchAhead + kBlock - 1,
        kPrefetchAhead + kBlock, kPrefetchAhead + kBlock + 1, 3 * kPrefetchAhead}) {
    std::vector<float> visits(static_cast<size_t>(size), 0);
    RunCpuLoop(CountVisits{&visits});
    EXPECT_EQ(visits, std::vector<float>(static_cast<size_t>(size), 1)) << "size " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Path, CpuPathTest,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512));

TEST(ScopedCpuPathTest, GivesBackThePathThatItFound) {
  const CpuPath before = ActiveCpuPath();
  {
    const ScopedCpuPath scope(CpuPath::kBaseline);
    EXPECT_EQ(ActiveCpuPath(), CpuPath::kBaseline);
  }
  EXPECT_EQ(ActiveCpuPath(), before);
}

TEST(ScopedCpuPathTest, NeverTakesAPathThatTheProcessorLacks) {
  const ScopedCpuPath scope(CpuPath::kAvx512);
  EXPECT_EQ(ActiveCpuPath(), BestCpuPath());
}

}  // namespace
}  // namespace rondo
