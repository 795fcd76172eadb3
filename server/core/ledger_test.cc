#include "server/core/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/mix64.h"
#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;

using Sample = std::pair<uint64_t, uint64_t>;  // Epoch, position.

// The samples of each step of a member, as the wire contract defines runs.
std::vector<std::vector<Sample>> StepsOf(const std::vector<SampleRun>& runs) {
  std::vector<std::vector<Sample>> steps;
  size_t begin = 0;
  for (const SampleRun& run : runs) {
    if (!run.same_steps) begin = steps.size();
    if (steps.size() < begin + run.steps) steps.resize(begin + run.steps);
    for (uint64_t s = 0; s < run.steps; ++s) {
      for (uint64_t i = 0; i < run.count; ++i) {
        steps[begin + s].emplace_back(run.epoch, run.first + s * run.advance + i * run.stride);
      }
    }
  }
  return steps;
}

TEST(LedgerTest, RankTakesThePositionsCongruentToItWithinEachBatch) {
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare({}, {100, 5, 3, 2}));
  EXPECT_THAT(share.batch, ElementsAre(3, 2));
  EXPECT_THAT(StepsOf(share.runs[0]),
              ElementsAre(ElementsAre(Sample(0, 0), Sample(0, 2), Sample(0, 4)),
                          ElementsAre(Sample(0, 5), Sample(0, 7), Sample(0, 9)),
                          ElementsAre(Sample(0, 10), Sample(0, 12), Sample(0, 14))));
  EXPECT_THAT(StepsOf(share.runs[1]), ElementsAre(ElementsAre(Sample(0, 1), Sample(0, 3)),
                                                  ElementsAre(Sample(0, 6), Sample(0, 8)),
                                                  ElementsAre(Sample(0, 11), Sample(0, 13))));
  EXPECT_EQ(share.runs[0].size(), 1u);
  EXPECT_EQ(share.after.position, 15u);
  EXPECT_EQ(share.after.samples_used, 15u);
}

TEST(LedgerTest, DropsATailShorterThanABatchAndCountsIt) {
  LedgerState ledger;
  ledger.position = 90;
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare(ledger, {98, 5, 3, 1}));
  EXPECT_EQ(share.tail_dropped, 3u);
  EXPECT_EQ(share.after.samples_dropped, 3u);
  EXPECT_EQ(share.after.epoch, 1u);
  EXPECT_EQ(share.after.position, 10u);
  EXPECT_EQ(StepsOf(share.runs[0])[1][0], Sample(1, 0));
}

TEST(LedgerTest, AnOrderMayCrossManyEpochs) {
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare({}, {10, 5, 7, 1}));
  EXPECT_EQ(share.runs[0].size(), 4u);
  EXPECT_EQ(share.after.epoch, 3u);
  EXPECT_EQ(share.after.position, 5u);
}

TEST(LedgerTest, LongOrdersCostNoMoreThanShortOnes) {
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare({}, {1ull << 60, 8, 1ull << 50, 4}));
  for (const auto& runs : share.runs) EXPECT_EQ(runs.size(), 1u);
}

TEST(LedgerTest, ReturnedSamplesComeFirstInTheNameOfTheirEpoch) {
  LedgerState ledger;
  ledger.epoch = 2;
  ReturnSamples(std::vector<SampleRun>{{1, 90, 2, 3, 2, 5, false}}, ledger);  // 90 93, 95 98
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare(ledger, {100, 3, 2, 1}));
  EXPECT_THAT(StepsOf(share.runs[0]),
              ElementsAre(ElementsAre(Sample(1, 90), Sample(1, 93), Sample(1, 95)),
                          ElementsAre(Sample(1, 98), Sample(2, 0), Sample(2, 1))));
  EXPECT_TRUE(share.after.returned.empty());
  EXPECT_EQ(share.after.position, 2u);
}

TEST(LedgerTest, AMemberMayHaveNoSamplesAtAll) {  // S44
  ASSERT_OK_AND_ASSIGN(const Share share, DecideShare({}, {100, 2, 4, 3}));
  EXPECT_THAT(share.batch, ElementsAre(1, 1, 0));
  EXPECT_EQ(CountSamples(share.runs[2]), 0u);
  EXPECT_EQ(StepsOf(share.runs[2]).size(), 4u);
}

TEST(LedgerTest, RefusesABatchThatNeverFits) {
  EXPECT_THAT(DecideShare({}, {10, 11, 1, 1}), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(DecideShare({}, {10, 0, 1, 1}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(LedgerTest, AnEpochIsDoneWhenNoBatchFits) {
  LedgerState ledger;
  ledger.position = 95;
  EXPECT_EQ(EpochsDone(ledger, 100, 5), 0u);
  EXPECT_EQ(EpochsDone(ledger, 100, 6), 1u);
}

// Over random orders, losses and non-finite members: each sample of an epoch is used exactly once,
// or dropped and counted, or left and counted (S46).
class LedgerPropertyTest : public testing::TestWithParam<uint64_t> {};

TEST_P(LedgerPropertyTest, UsesEachSampleExactlyOnceAnEpoch) {
  SplitMix64 random(GetParam());
  const uint64_t samples = 20 + random.Below(200);
  LedgerState ledger;
  std::set<Sample> used;
  uint64_t dropped = 0;
  for (int round = 0; round < 60; ++round) {
    const uint64_t members = 1 + random.Below(6);
    const uint64_t batch = 1 + random.Below(20);
    const uint64_t steps = 1 + random.Below(12);
    ASSERT_OK_AND_ASSIGN(const Share share, DecideShare(ledger, {samples, batch, steps, members}));
    LedgerState next = share.after;
    dropped += share.tail_dropped;
    for (uint64_t rank = 0; rank < members; ++rank) {
      const auto by_step = StepsOf(share.runs[rank]);
      ASSERT_EQ(by_step.size(), steps);
      for (const auto& step : by_step) ASSERT_EQ(step.size(), share.batch[rank]);
      const uint64_t fate = random.Below(8);
      if (fate == 0) {
        ReturnSamples(share.runs[rank], next);
        continue;
      }
      if (fate == 1) {
        DropSamples(share.runs[rank], next);
        dropped += CountSamples(share.runs[rank]);
      }
      for (const auto& step : by_step) {
        for (const Sample& sample : step) {
          ASSERT_LT(sample.second, samples);
          ASSERT_TRUE(used.insert(sample).second) << sample.first << ":" << sample.second;
        }
      }
    }
    ledger = next;
    const uint64_t epochs = ledger.epoch + (ledger.position > 0 ? 1 : 0);
    ASSERT_EQ(ledger.samples_dropped, dropped);
    ASSERT_EQ(ledger.samples_used + ledger.samples_dropped + UnusedSamples(ledger, samples),
              epochs * samples);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerPropertyTest, testing::Range<uint64_t>(0, 50));

}  // namespace
}  // namespace rondo::server
