#include "worker/core/redial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rondo::worker {
namespace {

TEST(RedialTest, TheFirstTryIsAtOnceAndPausesGrowToTwoSeconds) {
  RedialPauses pauses(3);
  EXPECT_EQ(pauses.Next(), absl::ZeroDuration());
  absl::Duration whole = absl::Milliseconds(50);
  for (int i = 0; i < 12; ++i) {
    const absl::Duration pause = pauses.Next();
    EXPECT_LE(pause, whole);
    EXPECT_GE(pause, whole * 3 / 4);
    whole = std::min(whole * 2, kRedialPauseMax);
  }
}

TEST(RedialTest, AStreamThatWorkedBeginsAnew) {
  RedialPauses pauses(3);
  for (int i = 0; i < 5; ++i) pauses.Next();
  pauses.Reset();
  EXPECT_EQ(pauses.Next(), absl::ZeroDuration());
}

TEST(RedialTest, WorkersDoNotDialInStep) {
  std::set<absl::Duration> pauses;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RedialPauses own(seed);
    absl::Duration last;
    for (int i = 0; i < 9; ++i) last = own.Next();
    pauses.insert(last);
  }
  EXPECT_GT(pauses.size(), 30u);
}

}  // namespace
}  // namespace rondo::worker
