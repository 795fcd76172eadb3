#include "worker/core/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "common/status_matchers.h"

namespace rondo {
namespace {

using Indices = std::vector<int64_t>;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// data/golden, case q4: seed 3, 1500 samples.
TEST(PermutationTest, GivesTheGoldenOrder) {
  const Indices epoch0 = {10,  490, 1230, 1058, 221,  969,  1276, 273, 83,  634, 86,
                          117, 917, 1248, 1328, 432,  938,  956,  773, 412, 122, 326,
                          367, 57,  1238, 1155, 1446, 1176, 883,  510, 399, 1079};
  const Indices epoch1 = {1197, 1267, 395, 616,  497,  482, 319,  296, 178,  362, 732,
                          41,   580,  744, 1480, 1400, 643, 690,  980, 869,  954, 1376,
                          295,  1173, 577, 984,  1072, 38,  1415, 693, 1339, 1157};
  const Indices order0 = ComputeEpochOrder(3, 0, 1500);
  const Indices order1 = ComputeEpochOrder(3, 1, 1500);
  EXPECT_EQ(Indices(order0.begin(), order0.begin() + 32), epoch0);
  EXPECT_EQ(Indices(order1.begin(), order1.begin() + 32), epoch1);
}

TEST(PermutationTest, IsAPermutationForAnySize) {
  for (const int64_t size : {0, 1, 2, 3, 1000}) {
    Indices order = ComputeEpochOrder(7, 5, size);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < size; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(EpochOrdersTest, GivesTheSameSamplesWhateverItForgets) {
  EpochOrders small(3, 100, true, 1);
  EpochOrders large(3, 100, true, 10);
  for (const int64_t epoch : {0, 1, 0, 2, 1, 0, 5, 5}) {
    for (int64_t i = 0; i < 100; i += 7)
      EXPECT_EQ(small.Sample(epoch, i), large.Sample(epoch, i)) << epoch << " " << i;
  }
}

TEST(EpochOrdersTest, IsTheIdentityWithoutShuffle) {
  EpochOrders orders(3, 100, false);
  EXPECT_EQ(orders.Sample(9, 42), 42);
}

TEST(SamplerTest, RanksTakeTheGlobalBatchInTurns) {
  EpochOrders orders(0, 100, false);
  ASSERT_OK_AND_ASSIGN(const Sampler sampler,
                       Sampler::Create({{0, 10 + 1, 2, 3, 4, 6}}, 4, &orders));
  EXPECT_EQ(sampler.Samples(0).samples, (Indices{11, 14}));
  EXPECT_EQ(sampler.Samples(3).samples, (Indices{29, 32}));
  EXPECT_EQ(sampler.total(), 8);
}

TEST(SamplerTest, RunsFollowEachOtherAndSameStepsAdds) {
  EpochOrders orders(0, 100, false);
  const std::vector<SampleRun> runs = {
      {.epoch = 0, .first_position = 90, .count = 1, .steps = 1},
      {.epoch = 1, .first_position = 0, .count = 1, .steps = 2, .advance = 10},
      {.epoch = 0, .first_position = 95, .count = 2, .steps = 1, .same_steps = true}};
  ASSERT_OK_AND_ASSIGN(const Sampler sampler, Sampler::Create(runs, 3, &orders));
  EXPECT_EQ(sampler.Samples(0).samples, (Indices{90}));
  EXPECT_EQ(sampler.Samples(1).samples, (Indices{0, 95, 96}));
  EXPECT_EQ(sampler.Samples(1).epochs, (Indices{1, 0, 0}));
  EXPECT_EQ(sampler.Samples(2).positions, (Indices{10}));
}

TEST(SamplerTest, MembersTakeEachSampleOnceAnEpoch) {
  constexpr int64_t kSize = 96, kMembers = 4, kBatch = 8;
  EpochOrders orders(11, kSize, true);
  Indices seen(kSize);
  for (int64_t rank = 0; rank < kMembers; ++rank) {
    const SampleRun run = {
        2, rank, kBatch, kMembers, kSize / (kMembers * kBatch), kMembers * kBatch};
    ASSERT_OK_AND_ASSIGN(const Sampler sampler, Sampler::Create({run}, run.steps, &orders));
    for (int64_t step = 0; step < run.steps; ++step)
      for (const int64_t sample : sampler.Samples(step).samples) ++seen[sample];
  }
  EXPECT_EQ(seen, Indices(kSize, 1));
}

TEST(SamplerTest, AnOrderOfLengthZeroHasNoRuns) {
  EpochOrders orders(0, 10, false);
  ASSERT_OK_AND_ASSIGN(const Sampler sampler, Sampler::Create({}, 0, &orders));
  EXPECT_EQ(sampler.total(), 0);
}

struct BadRuns {
  const char* name;
  std::vector<SampleRun> runs;
  const char* message;
};
class BadRunsTest : public testing::TestWithParam<BadRuns> {};

TEST_P(BadRunsTest, AreRefused) {
  EXPECT_THAT(CheckSampleRuns(GetParam().runs, 2, 100),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(GetParam().message)));
}

const BadRuns kBad[] = {
    {"NegativeEpoch", {{-1, 0, 1, 1, 2, 0}}, "epoch"},
    {"NegativeFirst", {{0, -1, 1, 1, 2, 0}}, "first position"},
    {"NegativeCount", {{0, 0, -1, 1, 2, 0}}, "count"},
    {"NoStride", {{0, 0, 1, 0, 2, 0}}, "stride"},
    {"NoSteps", {{0, 0, 1, 1, 0, 0}}, "steps"},
    {"NegativeAdvance", {{0, 0, 1, 1, 2, -1}}, "advance"},
    {"PastTheEnd", {{0, 99, 1, 1, 2, 1}}, "100 samples"},
    {"Overflow", {{0, 0, kMax, kMax, 2, kMax}}, "100 samples"},
    {"TooFewSteps", {{0, 0, 1, 1, 1, 0}}, "cover 1 steps"},
    {"TooManySteps", {{0, 0, 1, 1, 2, 0}, {0, 0, 1, 1, kMax, 0}}, "more than"},
    {"SameStepsFirst", {{0, 0, 1, 1, 2, 0, true}}, "run before it"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadRunsTest, testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rondo
