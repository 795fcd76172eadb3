#include "common/density.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(DensityTest, SelectsAShareRoundedDownAndAtLeastOne) {
  EXPECT_EQ(EntriesFor(17'226, 0.01), 172);
  EXPECT_EQ(EntriesFor(1000, 0.0125), 12);
  EXPECT_EQ(EntriesFor(100, 0.001), 1);
  EXPECT_EQ(EntriesFor(0, 0.5), 1);
  EXPECT_EQ(EntriesFor(7, 1.0), 7);
  EXPECT_EQ(EntriesFor(int64_t{1} << 32, 0.5), int64_t{1} << 31);
}

}  // namespace
}  // namespace rondo
