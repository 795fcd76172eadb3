#include "server/core/control_bytes.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

constexpr int64_t kThreshold = (2048 + 1024 + 1024) * 8;
constexpr int64_t kCuts = 4096 * 8 / 64;  // A sync, of a large vector.

TEST(ControlBytesTest, OneMemberSendsNone) {
  EXPECT_EQ(DoublingMessages(1), 0);
  EXPECT_EQ(SparseControlBytesPerSync(1, 1000), 0);
  EXPECT_EQ(SparseControlBytesMost(1, 1000), 0);
  EXPECT_EQ(SparseControlBytesInTurn(1), 0);
  EXPECT_EQ(GatherControlBytesPerSync(1), 0);
}

TEST(ControlBytesTest, HistogramsTravelOnceForEachDoubling) {
  EXPECT_EQ(SparseControlBytesPerSync(2, 1 << 20), 64 + kThreshold + kCuts);
  EXPECT_EQ(SparseControlBytesPerSync(8, 1 << 20), 7 * 64 + 3 * (kThreshold + kCuts));
  // One gives its part away, two exchange theirs, one gives the sum back: 4 among 3.
  EXPECT_EQ(SparseControlBytesPerSync(3, 1 << 20), 2 * 64 + (kThreshold + kCuts) * 4 / 3);
  EXPECT_EQ(SparseControlBytesInTurn(8), 7 * 64 + 3 * kThreshold);
}

TEST(ControlBytesTest, ASmallVectorHasABinForEachPosition) {
  EXPECT_EQ(SparseControlBytesPerSync(2, 640), 64 + kThreshold + 640 * 8 / 64);
  EXPECT_EQ(SparseControlBytesPerSync(2, 0), 64 + kThreshold);
}

TEST(ControlBytesTest, NoSyncSendsMoreThanTheMost) {
  for (int64_t workers = 2; workers <= 70; ++workers) {
    EXPECT_LT(SparseControlBytesPerSync(workers, 1 << 20),
              SparseControlBytesMost(workers, 1 << 20));
    EXPECT_LE(SparseControlBytesInTurn(workers), SparseControlBytesMost(workers, 1 << 20));
  }
}

}  // namespace
}  // namespace rondo
