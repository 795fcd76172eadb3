#include "common/mix64.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

// First outputs of the reference generator for seed 1234567 (published with the algorithm).
TEST(SplitMix64Test, GivesThePublishedSequence) {
  SplitMix64 generator(1234567);
  EXPECT_EQ(generator.Next(), 6457827717110365317u);
  EXPECT_EQ(generator.Next(), 3203168211198807973u);
  EXPECT_EQ(generator.Next(), 9817491932198370423u);
}

TEST(SplitMix64Test, BelowStaysBelowItsBound) {
  SplitMix64 generator(1);
  for (uint64_t bound : {1u, 2u, 3u, 1000u}) {
    for (int i = 0; i < 100; ++i) EXPECT_LT(generator.Below(bound), bound);
  }
}

}  // namespace
}  // namespace rondo
