#include "server/core/round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;

ScheduleConfig Constant() {
  ScheduleConfig schedule;
  schedule.steps = 10;
  schedule.peak = 0.5;
  return schedule;
}

Round ThreeMembers() {
  PolicyConfig policy;
  policy.policy = SyncPolicy::kConstant;
  policy.base_steps = 4;
  OrderRequest request;
  request.round = {3};
  request.group = {2};
  request.members = {
      {"a", {1}, StateNeed::kHolds}, {"b", {2}, StateNeed::kHolds}, {"c", {3}, StateNeed::kHolds}};
  request.train_samples = 100;
  request.global_batch = 8;
  auto round = DecideOrder(policy, Constant(), request);
  EXPECT_OK(round);
  round->ordered_at = absl::UnixEpoch();
  round->attempts = 1;
  return *round;
}

ReduceFacts FactsWith(uint64_t hash, uint64_t bytes) {
  ReduceFacts facts;
  facts.state_hash = hash;
  facts.parameter_norm_squared = 4;
  facts.costs = {{CostPhase::kReduceScatter, bytes, 0, 0, 0, 1},
                 {CostPhase::kAllGather, bytes, 0, 0, 0, 1}};
  facts.reduce_seconds = 0.5;
  return facts;
}

Ready ReadyWith(double loss_sum, double step_seconds) {
  Ready ready;
  ready.steps = 4;
  ready.loss_sum = loss_sum;
  ready.step_seconds = step_seconds;
  return ready;
}

TEST(RoundTest, EachMemberGetsTheSameRates) {  // S28
  const Round round = ThreeMembers();
  for (size_t rank = 0; rank < 3; ++rank) {
    const Order order = OrderFor(round, rank);
    EXPECT_THAT(order.rates, ElementsAre(0.5, 0.5, 0.5, 0.5));
    EXPECT_EQ(order.weight_sum, 8);
  }
  EXPECT_EQ(OrderFor(round, 0).weight, 3);
  EXPECT_EQ(OrderFor(round, 2).weight, 2);
}

TEST(RoundTest, TheLastRoundEndsWithTheRun) {  // S31
  PolicyConfig policy;
  policy.policy = SyncPolicy::kConstant;
  policy.base_steps = 4;
  OrderRequest request;
  request.members = {{"a", {1}, StateNeed::kHolds}};
  request.step = 8;
  request.train_samples = 100;
  request.global_batch = 8;
  ASSERT_OK_AND_ASSIGN(const Round round, DecideOrder(policy, Constant(), request));
  EXPECT_EQ(round.length, 2u);
}

TEST(RoundTest, ACommitWeighsLossesBySamplesAndAddsBytes) {
  Round round = ThreeMembers();
  round.attempt = Attempt{.number = 1, .group = {2}};
  const double losses[] = {4, 8, 12};  // Over four steps: means of 1, 2 and 3.
  for (size_t i = 0; i < 3; ++i) {
    round.members[i].ready = ReadyWith(losses[i], 1.0 + static_cast<double>(i));
    round.attempt->contributions.push_back(
        {.member = i,
         .weight = static_cast<double>(4 * round.members[i].batch),
         .reduced = FactsWith(77, 10)});
  }
  const CommitRecord commit = DecideCommit(round, 77, absl::UnixEpoch() + absl::Seconds(5));
  EXPECT_DOUBLE_EQ(commit.mean_loss, (3 * 1 + 3 * 2 + 2 * 3) / 8.0);
  EXPECT_EQ(commit.bytes_sent, 60u);
  EXPECT_EQ(commit.step_seconds, 3);
  EXPECT_EQ(commit.reduce_seconds, 0.5);
  EXPECT_EQ(commit.control_seconds, 1.5);
  EXPECT_EQ(commit.samples, 32u);
  EXPECT_EQ(commit.parameter_norm_squared, 4);
  EXPECT_EQ(commit.ledger.samples_used, 32u);
}

TEST(RoundTest, ControlTimeIsNeverNegative) {
  Round round = ThreeMembers();
  round.attempt = Attempt{.number = 1, .group = {2}};
  round.members[0].ready = ReadyWith(4, 100);
  round.attempt->contributions.push_back({.member = 0, .weight = 12, .reduced = FactsWith(7, 1)});
  EXPECT_EQ(DecideCommit(round, 7, absl::UnixEpoch() + absl::Seconds(1)).control_seconds, 0);
}

TEST(RoundTest, WhoIsNotInTheAttemptGetsItsSamplesBack) {
  Round round = ThreeMembers();
  round.attempt = Attempt{.number = 2, .group = {5}};
  for (size_t i : {0, 2}) {
    round.members[i].ready = ReadyWith(4, 1);
    round.attempt->contributions.push_back(
        {.member = i,
         .weight = static_cast<double>(4 * round.members[i].batch),
         .reduced = FactsWith(7, 1)});
  }
  const CommitRecord commit = DecideCommit(round, 7, absl::UnixEpoch());
  EXPECT_THAT(commit.members, ElementsAre("a", "b", "c"));
  EXPECT_THAT(commit.contributors, ElementsAre("a", "c"));
  EXPECT_EQ(commit.samples, 20u);
  EXPECT_EQ(CountSamples(commit.ledger.returned), 12u);
  EXPECT_EQ(commit.ledger.samples_used, 20u);
}

TEST(RoundTest, SamplesOfOneThatIsNotFiniteAreDroppedAndItsLossIgnored) {
  Round round = ThreeMembers();
  round.attempt = Attempt{.number = 1, .group = {2}};
  for (size_t i = 0; i < 3; ++i) {
    round.members[i].ready = ReadyWith(4, 1);
    round.members[i].ready->finite = i != 1;
    round.attempt->contributions.push_back(
        {.member = i, .weight = i != 1 ? 1.0 : 0.0, .reduced = FactsWith(7, 1)});
  }
  const CommitRecord commit = DecideCommit(round, 7, absl::UnixEpoch());
  EXPECT_THAT(commit.contributors, ElementsAre("a", "c"));
  EXPECT_EQ(commit.ledger.samples_dropped, 12u);
  EXPECT_EQ(commit.mean_loss, 1);
}

TEST(RoundTest, RatesThatDifferInOneBitHashDifferently) {
  EXPECT_NE(HashRates({0.1, 0.2}), HashRates({0.2, 0.1}));
  EXPECT_EQ(HashRates({0.1, 0.2}), HashRates({0.1, 0.2}));
}

}  // namespace
}  // namespace rondo::server
