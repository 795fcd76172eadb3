#include "server/core/vote.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondo::server {
namespace {

constexpr std::nullopt_t kSilent = std::nullopt;

struct Case {
  std::string name;
  std::vector<Ballot> ballots;
  std::optional<uint64_t> hash;
  bool split;
};

const std::vector<Case> kCases = {
    {"OneAloneIsEnough", {{7, true}}, 7, false},
    {"OfTwoBothAreNeeded", {{7, true}, {kSilent, true}}, std::nullopt, false},
    {"TwoThatDifferDecideNothing", {{7, true}, {8, true}}, std::nullopt, true},
    {"OfThreeTwoAreEnough", {{7, true}, {kSilent, false}, {7, true}}, 7, false},
    {"TheOddOneOutIsOutvoted", {{7, true}, {9, true}, {7, true}}, 7, true},
    {"HalfOfFourIsNoMajority",
     {{7, true}, {7, true}, {kSilent, false}, {kSilent, false}},
     std::nullopt,
     false},
    {"SilentOnesCountInTheWhole",
     {{7, true}, {kSilent, true}, {kSilent, true}},
     std::nullopt,
     false},
    {"OneHolderMustBePresent", {{7, false}, {7, false}, {kSilent, true}}, std::nullopt, false},
    {"OnePresentHolderSuffices", {{7, false}, {7, true}, {kSilent, true}}, 7, false},
    {"HashZeroIsAHash", {{0, true}, {0, true}}, 0, false},
};

class VoteTest : public testing::TestWithParam<Case> {};

TEST_P(VoteTest, DecidesByItsRule) {
  const VoteResult result = DecideVote(GetParam().ballots);
  EXPECT_EQ(result.hash, GetParam().hash);
  EXPECT_EQ(result.split, GetParam().split);
}

INSTANTIATE_TEST_SUITE_P(Rules, VoteTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rondo::server
