#include "server/core/discipline.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::server {
namespace {

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

double WaitAfter(Discipline& discipline, double seconds) {
  return absl::ToDoubleSeconds(discipline.NoteLoss("w", At(seconds)) - At(seconds));
}

TEST(DisciplineTest, TheFirstLossesCostNothingThenEachCostsTwiceAsMuch) {  // S18
  Discipline discipline({});
  EXPECT_EQ(WaitAfter(discipline, 0), 0);
  EXPECT_EQ(WaitAfter(discipline, 20), 0);
  EXPECT_EQ(WaitAfter(discipline, 40), 10);
  EXPECT_EQ(WaitAfter(discipline, 60), 20);
  EXPECT_EQ(WaitAfter(discipline, 90), 40);
  for (int i = 0; i < 100; ++i) WaitAfter(discipline, 100 + i);
  EXPECT_EQ(WaitAfter(discipline, 210), 300);
}

TEST(DisciplineTest, ANameIsBarredUntilItsCoolDownIsOver) {
  Discipline discipline({.losses_free = 0});
  discipline.NoteLoss("w", At(5));
  EXPECT_EQ(discipline.BarredUntil("w", At(6)), At(15));
  EXPECT_EQ(discipline.BarredUntil("w", At(15)), absl::InfinitePast());
  EXPECT_EQ(discipline.BarredUntil("other", At(6)), absl::InfinitePast());
}

TEST(DisciplineTest, TimeWithoutALossIsForgiveness) {
  Discipline discipline({});
  for (int i = 0; i < 4; ++i) WaitAfter(discipline, i);
  EXPECT_EQ(discipline.Losses("w", At(3)), 4u);
  EXPECT_EQ(discipline.Losses("w", At(604)), 3u);
  EXPECT_EQ(discipline.Losses("w", At(1204)), 2u);
  EXPECT_EQ(WaitAfter(discipline, 1204), 10);
  EXPECT_EQ(discipline.Losses("w", At(100'000)), 0u);
}

TEST(DisciplineTest, OneThatWasExcludedWaitsForTheLongestTime) {
  Discipline discipline({});
  EXPECT_EQ(discipline.NoteExclusion("w", At(7)), At(307));
  EXPECT_EQ(discipline.BarredUntil("w", At(300)), At(307));
}

TEST(DisciplineTest, WithoutACoolDownNobodyWaits) {
  Discipline discipline({.losses_free = 0, .cool_down = absl::ZeroDuration()});
  EXPECT_EQ(WaitAfter(discipline, 1), 0);
  EXPECT_EQ(discipline.NoteExclusion("w", At(1)), At(1));
}

TEST(DisciplineTest, NamesThatNeverComeBackAreForgotten) {  // S66
  Discipline discipline({});
  for (int i = 0; i < 10'000; ++i) {
    discipline.NoteLoss("w" + std::to_string(i), At(700.0 * i));
  }
  EXPECT_EQ(discipline.Losses("w0", At(700.0 * 10'000)), 0u);
}

}  // namespace
}  // namespace rondo::server
