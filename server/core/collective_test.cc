#include "server/core/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "server/core/control_bytes.h"

namespace rondo::server {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr CollectiveConfig kAutoConfig = {.kind = Collective::kAuto, .density = 0.125};

CommitRecord CommitOf(Collective collective, double reduce_seconds, uint64_t reductions = 1,
                      size_t contributors = 2) {
  CommitRecord commit;
  commit.collective = collective;
  commit.reduce_seconds = reduce_seconds;
  commit.reductions = reductions;
  for (size_t i = 0; i < contributors; ++i) commit.contributors.push_back("w" + std::to_string(i));
  commit.members = commit.contributors;
  return commit;
}

CollectiveTrials TrialsOf(std::vector<double> ring, std::vector<double> sparse) {
  return {.ring = std::move(ring), .sparse = std::move(sparse)};
}

TEST(DensityTest, FallsByTheSameFactorEachStepAndStaysThen) {
  const CollectiveConfig config = {
      .kind = Collective::kSparse, .density = 0.01, .warmup_steps = 2, .warmup_density = 0.25};
  EXPECT_EQ(DensityAt(config, 0), 0.25);
  EXPECT_NEAR(DensityAt(config, 1), 0.05, 1e-15);  // The geometric mean.
  EXPECT_EQ(DensityAt(config, 2), 0.01);
  EXPECT_EQ(DensityAt(config, 1'000'000'000), 0.01);
}

TEST(DensityTest, NeverLeavesItsRangeAndNeverGrows) {
  const CollectiveConfig config = {
      .kind = Collective::kSparse, .density = 1e-3, .warmup_steps = 997, .warmup_density = 1};
  double before = 1;
  for (uint64_t step = 0; step < 1'100; ++step) {
    const double density = DensityAt(config, step);
    EXPECT_LE(density, before);
    EXPECT_GE(density, 1e-3);
    before = density;
  }
}

TEST(DensityTest, WithoutAWarmUpItIsTheJobs) {
  EXPECT_EQ(DensityAt({.kind = Collective::kSparse, .density = 0.5}, 0), 0.5);
  EXPECT_EQ(DensityAt({.kind = Collective::kRing}, 0), 0);
}

TEST(TrialsTest, MeasureSecondsOfOneReduction) {
  CollectiveTrials trials;
  AddTrial(CommitOf(Collective::kRing, 5, 50), &trials);
  AddTrial(CommitOf(Collective::kSparse, 0.25), &trials);
  EXPECT_EQ(trials.ring, std::vector<double>{0.1});
  EXPECT_EQ(trials.sparse, std::vector<double>{0.25});
}

TEST(TrialsTest, ARoundOfOneMemberOrWithoutAReductionMeasuresNothing) {
  CollectiveTrials trials;
  AddTrial(CommitOf(Collective::kRing, 5, 1, 1), &trials);
  AddTrial(CommitOf(Collective::kRing, 5, 0), &trials);
  AddTrial(CommitOf(Collective::kTopkGather, 5), &trials);
  CommitRecord finished_alone = CommitOf(Collective::kRing, 5);
  finished_alone.members.pop_back();
  AddTrial(finished_alone, &trials);
  EXPECT_THAT(trials.ring, SizeIs(0));
  EXPECT_THAT(trials.sparse, SizeIs(0));
}

TEST(TrialsTest, EndWhenThereAreEnough) {
  CollectiveTrials trials;
  for (int i = 0; i < 10; ++i) AddTrial(CommitOf(Collective::kRing, i), &trials);
  EXPECT_EQ(trials.ring, (std::vector<double>{0, 1, 2, 3}));
}

struct Choice {
  const char* name;
  CollectiveTrials trials;
  size_t members;
  Collective expected;
};

const Choice kChoices[] = {
    {"TheRingComesFirst", TrialsOf({}, {}), 2, Collective::kRing},
    {"ThenSparse", TrialsOf({1}, {}), 2, Collective::kSparse},
    {"ThenTheRingAgain", TrialsOf({1}, {1}), 2, Collective::kRing},
    {"WhileOneIsMissingItComes", TrialsOf({1, 1, 1, 1}, {1, 1, 1}), 2, Collective::kSparse},
    {"OneAloneReducesDenselyUntilItIsKnown", TrialsOf({1}, {}), 1, Collective::kRing},
    {"TheFasterOneStays", TrialsOf({2, 2, 2, 2}, {1, 1, 1, 1}), 2, Collective::kSparse},
    {"AlsoIfItIsTheRing", TrialsOf({1, 1, 1, 1}, {2, 2, 2, 2}), 2, Collective::kRing},
    {"AlikeTheRingStays", TrialsOf({1, 1, 1, 1}, {1, 1, 1, 1}), 2, Collective::kRing},
    {"TheFirstOfEachDoesNotCount", TrialsOf({2, 2, 2, 2}, {99, 1, 1, 1}), 2, Collective::kSparse},
    {"NorDoesOneThatWasSlowByChance", TrialsOf({2, 2, 2, 2}, {1, 1, 99, 1}), 2,
     Collective::kSparse},
    {"ItStaysForOneAlone", TrialsOf({2, 2, 2, 2}, {1, 1, 1, 1}), 1, Collective::kSparse},
};

TEST(DecideCollectiveTest, AutoTakesTurnsThenKeepsTheFaster) {
  for (const Choice& choice : kChoices) {
    const CollectiveDecision decision =
        DecideCollective(kAutoConfig, choice.trials, choice.members, 7);
    EXPECT_EQ(decision.collective, choice.expected) << choice.name;
    EXPECT_EQ(decision.density, choice.expected == Collective::kSparse ? 0.125 : 0) << choice.name;
  }
}

TEST(DecideCollectiveTest, OtherKindsAreWhatTheJobSays) {
  const CollectiveTrials slow_sparse = TrialsOf({1, 1, 1, 1}, {2, 2, 2, 2});
  for (const Collective kind : {Collective::kRing, Collective::kSparse, Collective::kTopkGather}) {
    const CollectiveConfig config = {.kind = kind, .density = 0.5};
    EXPECT_EQ(DecideCollective(config, slow_sparse, 2, 0).collective, kind);
    EXPECT_EQ(TellChoice(config, slow_sparse), "");
  }
}

TEST(DecideCollectiveTest, TellsWhatItMeasuresAndWhatItHasChosen) {
  EXPECT_THAT(TellChoice(kAutoConfig, TrialsOf({1}, {})), HasSubstr("1 and 0 of 4 rounds"));
  const std::string chosen = TellChoice(kAutoConfig, TrialsOf({2, 2, 2, 2}, {0, 0.5, 0.5, 0.5}));
  EXPECT_THAT(chosen, HasSubstr("sparse stays"));
  EXPECT_THAT(chosen, HasSubstr("2 s"));
  EXPECT_THAT(chosen, HasSubstr("500 ms"));
}

TEST(CollectiveTest, ASyncSendsWhatItsCollectiveSends) {
  constexpr int64_t kParameters = 10'000;
  EXPECT_EQ(BytesPerSync(Collective::kRing, 4, kParameters, 0), 60'000);
  EXPECT_EQ(BytesPerSync(Collective::kAuto, 4, kParameters, 0.01), 60'000);
  EXPECT_EQ(BytesPerSync(Collective::kSparse, 4, kParameters, 0.01),
            1200 + SparseControlBytesPerSync(4, kParameters));
  EXPECT_EQ(BytesPerSync(Collective::kTopkGather, 4, kParameters, 0.01),
            2400 + GatherControlBytesPerSync(4));
}

}  // namespace
}  // namespace rondo::server
