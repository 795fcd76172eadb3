#include "server/core/residuals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kHash = 7;

// Members a, b, c; all but the last `missing` take part in the attempt.
Round RoundOf(RoundMode mode, Collective collective, size_t missing = 0) {
  Round round;
  round.id = {5};
  round.mode = mode;
  round.collective = collective;
  round.attempt = Attempt{.number = 1, .group = {1}};
  for (const char* name : {"a", "b", "c"}) {
    round.members.push_back({.name = name, .incarnation = {1}, .runs = {}});
    round.members.back().ready.emplace();
  }
  for (size_t i = 0; i + missing < 3; ++i) round.attempt->contributions.push_back({.member = i});
  return round;
}

void Report(Round* round, size_t member, double norm, uint64_t hash = kHash) {
  ReduceFacts facts;
  facts.state_hash = hash;
  facts.residual_norm_squared = norm;
  round->attempt->contributions[member].reduced = facts;
}

std::vector<std::string> KeptOf(const ResidualsAfter& after) {
  std::vector<std::string> kept;
  for (const ResidualNorm& r : after.kept) {
    kept.push_back(r.worker + " " + std::to_string(static_cast<int>(r.norm_squared)));
  }
  return kept;
}

std::vector<std::string> LostOf(const std::vector<LostResidual>& all) {
  std::vector<std::string> lost;
  for (const LostResidual& r : all) {
    lost.push_back(r.worker + " " + std::to_string(static_cast<int>(r.norm_squared)));
  }
  return lost;
}

TEST(DecideResidualsTest, WhoHoldsTheResultKeepsWhatItReports) {
  Round round = RoundOf(RoundMode::kLocal, Collective::kSparse);
  for (size_t i = 0; i < 3; ++i) Report(&round, i, static_cast<double>(i));
  const ResidualsAfter after = DecideResiduals(round, kHash, {{"a", 9}, {"b", 9}});
  EXPECT_THAT(KeptOf(after), ElementsAre("b 1", "c 2"));
  EXPECT_THAT(after.lost, IsEmpty());  // What a had was delivered.
}

TEST(DecideResidualsTest, WhoHasNoPartInTheResultLosesItsOwn) {
  Round round = RoundOf(RoundMode::kLocal, Collective::kSparse, 1);
  Report(&round, 0, 3);
  Report(&round, 1, 4);
  const ResidualsAfter after = DecideResiduals(round, kHash, {{"b", 2}, {"c", 5}, {"gone", 6}});
  EXPECT_THAT(KeptOf(after), ElementsAre("a 3", "b 4"));
  EXPECT_THAT(LostOf(after.lost), ElementsAre("c 5", "gone 6"));
}

TEST(DecideResidualsTest, AnOutvotedResultLeavesNone) {
  Round round = RoundOf(RoundMode::kLocal, Collective::kSparse);
  Report(&round, 0, 3);
  Report(&round, 1, 4);
  Report(&round, 2, 8, kHash + 1);
  const ResidualsAfter after = DecideResiduals(round, kHash, {{"c", 5}});
  EXPECT_THAT(KeptOf(after), ElementsAre("a 3", "b 4"));
  EXPECT_THAT(LostOf(after.lost), ElementsAre("c 5"));
}

TEST(DecideResidualsTest, OfWhoDidNotReportTheLastReportStays) {
  Round round = RoundOf(RoundMode::kLocal, Collective::kSparse);
  Report(&round, 0, 3);
  Report(&round, 1, 4);
  const ResidualsAfter after = DecideResiduals(round, kHash, {{"c", 5}});
  EXPECT_THAT(KeptOf(after), ElementsAre("a 3", "b 4", "c 5"));
  EXPECT_THAT(after.lost, IsEmpty());
}

TEST(DecideResidualsTest, WhatIsNotFiniteAndZeroedWasNotDelivered) {
  Round round = RoundOf(RoundMode::kLocal, Collective::kSparse);
  for (size_t i = 0; i < 3; ++i) Report(&round, i, 0);
  round.members[1].ready->finite = false;
  const ResidualsAfter after = DecideResiduals(round, kHash, {{"a", 4}, {"b", 5}});
  EXPECT_THAT(after.kept, IsEmpty());
  EXPECT_THAT(LostOf(after.lost), ElementsAre("b 5"));
}

TEST(DecideResidualsTest, InAParallelRoundItsGoodStepsHaveDeliveredIt) {
  for (const Collective collective : {Collective::kRing, Collective::kSparse}) {
    Round round = RoundOf(RoundMode::kParallel, collective);
    for (size_t i = 0; i < 3; ++i) Report(&round, i, 0);
    round.members[1].ready->finite = false;
    EXPECT_THAT(DecideResiduals(round, kHash, {{"b", 5}}).lost, IsEmpty());
  }
}

struct Forming {
  StateNeed need;
  double reported;
  bool lost;
};

constexpr Forming kForming[] = {
    {StateNeed::kHolds, 5, false},  {StateNeed::kHolds, 0, false},
    {StateNeed::kStep, 0, false},   {StateNeed::kAll, 0, true},
    {StateNeed::kValues, 0, true},  {StateNeed::kInitial, 0, true},
    {StateNeed::kMoments, 0, true}, {StateNeed::kMoments, 5, false},
    {StateNeed::kFile, 5, false},   {StateNeed::kFile, 0, true},
    {StateNeed::kPartial, 0, true}, {StateNeed::kPartial, 5, false},
};

TEST(LostInFormingTest, TheNeedDecides) {
  for (const Forming& forming : kForming) {
    const Member member{"a", {1}, forming.need};
    const auto lost = LostInForming(member, forming.reported, {{"a", 9}});
    EXPECT_EQ(lost.has_value(), forming.lost) << static_cast<int>(forming.need);
    if (lost) {
      EXPECT_EQ(lost->norm_squared, 9);
    }
    EXPECT_FALSE(LostInForming(member, forming.reported, {}));  // It had none.
  }
}

TEST(LostWithModeTest, AResidualOfGradientsIsNoChangeOfParameters) {
  const Residuals residuals = {{"a", 1}, {"b", 2}};
  EXPECT_THAT(LostWithMode(RoundMode::kLocal, RoundMode::kLocal, residuals), IsEmpty());
  EXPECT_THAT(LostOf(LostWithMode(RoundMode::kParallel, RoundMode::kLocal, residuals)),
              ElementsAre("a 1", "b 2"));
}

TEST(LostWithFilesTest, WhoDoesNotGoOnFromTheCheckpointLosesItsOwn) {
  const Round round = RoundOf(RoundMode::kLocal, Collective::kSparse);
  EXPECT_THAT(LostOf(LostWithFiles(round.members, {{"a", 1}, {"z", 2}})), ElementsAre("z 2"));
}

}  // namespace
}  // namespace rondo::server
