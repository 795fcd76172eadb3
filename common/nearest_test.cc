#include "common/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondo {
namespace {

TEST(EditDistanceTest, CountsEachKindOfEdit) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("peak", "peak"), 0);
  EXPECT_EQ(EditDistance("peak", "pak"), 1);
  EXPECT_EQ(EditDistance("pak", "peak"), 1);
  EXPECT_EQ(EditDistance("peak", "peek"), 1);
  EXPECT_EQ(EditDistance("peak", "paek"), 1);
  EXPECT_EQ(EditDistance("", "peak"), 4);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestWordTest, FindsTheMistypedWord) {
  const std::vector<std::string> words = {"peak", "final", "warmup_steps"};
  EXPECT_EQ(NearestWord("warmup_step", words), "warmup_steps");
  EXPECT_EQ(NearestWord("fianl", words), "final");
  EXPECT_EQ(NearestWord("Peak", words), "peak");
}

TEST(NearestWordTest, GivesNothingWhenNothingIsNear) {
  const std::vector<std::string> words = {"peak", "final"};
  EXPECT_EQ(NearestWord("momentum", words), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'p'), words), "");
  EXPECT_EQ(NearestWord("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(NearestWord("x", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace rondo
