#include "server/cli/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::cli {
namespace {

TEST(Utf8Test, KnowsWhatIsWellFormed) {
  for (const char* good : {"", "lunch", "Mittag \u00fc", "\u20ac", "\U0001f600", "\uffff"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\xff", "\x80", "\xc3", "a\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe0\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(Utf8Test, CutsBetweenCharactersAndReplacesStrayBytes) {
  EXPECT_EQ(AsUtf8("a\u20ac", 3), "a");
  EXPECT_EQ(AsUtf8("a\u20ac", 4), "a\u20ac");
  EXPECT_EQ(AsUtf8("a\xff\x80z", 10), "a??z");
  EXPECT_TRUE(IsUtf8(AsUtf8(std::string("\xe2\x82 \xc3"), 10)));
}

}  // namespace
}  // namespace rondo::cli
