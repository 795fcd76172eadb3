#include "server/core/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rondo::server {
namespace {

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

struct Case {
  std::string name;
  std::vector<Candidate> candidates;
  absl::Time now;
  StartVerdict verdict;
  std::vector<std::string> members;
};

// Two to four workers, ten seconds of waiting.
const StartPolicy kPolicy = {2, 4, absl::Seconds(10)};

// S17: any order of arrival works.
const std::vector<Case> kCases = {
    {"NobodyIsTooFew", {}, At(100), StartVerdict::kTooFew, {}},
    {"BelowMinimumIsTooFewForEver", {{"a", At(0)}}, At(1e6), StartVerdict::kTooFew, {}},
    {"MinimumWaitsForMore", {{"a", At(0)}, {"b", At(9)}}, At(9.9), StartVerdict::kWaiting, {}},
    {"MinimumStartsAfterTheWait",
     {{"b", At(9)}, {"a", At(0)}},
     At(10),
     StartVerdict::kStart,
     {"a", "b"}},
    {"MaximumStartsAtOnce",
     {{"d", At(0)}, {"c", At(0)}, {"b", At(0)}, {"a", At(0)}},
     At(0),
     StartVerdict::kStart,
     {"a", "b", "c", "d"}},
    {"TheEarliestAreChosenOfTooMany",
     {{"e", At(1)}, {"a", At(5)}, {"b", At(2)}, {"c", At(3)}, {"d", At(4)}},
     At(5),
     StartVerdict::kStart,
     {"b", "c", "d", "e"}},
};

class StartTest : public testing::TestWithParam<Case> {};

TEST_P(StartTest, DecidesByItsRule) {
  const StartDecision decision = DecideStart(kPolicy, GetParam().candidates, GetParam().now);
  EXPECT_EQ(decision.verdict, GetParam().verdict);
  EXPECT_EQ(decision.members, GetParam().members);
}

TEST_P(StartTest, DoesNotDependOnTheOrderOfCandidates) {
  std::vector<Candidate> candidates = GetParam().candidates;
  std::reverse(candidates.begin(), candidates.end());
  const StartDecision decision = DecideStart(kPolicy, candidates, GetParam().now);
  EXPECT_EQ(decision.verdict, GetParam().verdict);
  EXPECT_EQ(decision.members, GetParam().members);
}

INSTANTIATE_TEST_SUITE_P(Rules, StartTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(StartTest, SaysUntilWhenItWaits) {
  const std::vector<Candidate> candidates = {{"a", At(3)}, {"b", At(4)}};
  EXPECT_EQ(DecideStart(kPolicy, candidates, At(5)).at, At(13));
}

}  // namespace
}  // namespace rondo::server
