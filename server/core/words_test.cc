#include "server/core/words.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace rondo {
namespace {

TEST(WordsTest, OneIsNotPlural) {
  EXPECT_EQ(Counted(0, "step"), "0 steps");
  EXPECT_EQ(Counted(1, "step"), "1 step");
  EXPECT_EQ(Counted(2, "step"), "2 steps");
}

TEST(WordsTest, ALongListIsCutAndSaysByHowMuch) {
  EXPECT_EQ(Listed({}), "");
  EXPECT_EQ(Listed({"a"}), "a");
  EXPECT_EQ(Listed({"a", "b"}), "a and b");
  EXPECT_EQ(Listed({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(Listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(WordsTest, ATimeHasNoFractionOfASecond) {
  EXPECT_EQ(InUtc(absl::FromUnixMillis(1'500)), "1970-01-01 00:00:01 UTC");
}

}  // namespace
}  // namespace rondo
