#include "server/core/continuation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ScheduleConfig Linear() {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::kLinear;
  schedule.steps = 20;
  schedule.peak = 1;
  schedule.final = 0.5;
  return schedule;
}

std::vector<Member> Members(const std::string& names) {
  std::vector<Member> members;
  for (const char name : names) {
    members.push_back({std::string(1, name), {static_cast<uint64_t>(name)}, StateNeed::kHolds});
  }
  return members;
}

// Steps 0 to 7 of the job, 9 samples a step of 100.
Round ParallelRound(const std::string& names) {
  PolicyConfig policy;
  policy.policy = SyncPolicy::kParallel;
  policy.round_steps = 8;
  OrderRequest request;
  request.round = {3};
  request.group = {2};
  request.members = Members(names);
  request.train_samples = 100;
  request.global_batch = 9;
  auto round = DecideOrder(policy, Linear(), request);
  EXPECT_OK(round);
  round->ordered_at = absl::UnixEpoch();
  return *std::move(round);
}

ContinueRequest At(uint64_t step, const std::string& names) {
  return {.group = {5},
          .members = Members(names),
          .step = step,
          .train_samples = 100,
          .global_batch = 9};
}

// All samples of an order, per step, over its members.
uint64_t SamplesOf(const Round& round) {
  uint64_t samples = 0;
  for (const RoundMember& member : round.members) samples += CountSamples(member.runs);
  return samples;
}

CommitRecord CommitAll(Round round) {
  round.attempt = Attempt{.number = 0, .group = round.group};
  for (size_t i = 0; i < round.members.size(); ++i) {
    Ready ready;
    ready.steps = round.length;
    ready.loss_sum = 2 * static_cast<double>(round.length);
    round.members[i].ready = ready;
    ReduceFacts facts;
    facts.state_hash = 77;
    round.attempt->contributions.push_back({.member = i, .weight = 3, .reduced = facts});
  }
  return DecideCommit(round, 77, absl::UnixEpoch() + absl::Seconds(9));
}

TEST(RepairTest, WhoIsAheadGivesWhoIsBehindFinishes) {  // Rule 18.
  const RepairDecision repair = DecideRepair({{"a", {1}, 6}, {"b", {2}, 7}, {"c", {3}, 6}});
  EXPECT_EQ(repair.stands_at, 7u);
  EXPECT_EQ(repair.step, 6u);
  ASSERT_EQ(repair.members.size(), 3u);
  EXPECT_EQ(repair.members[0].need, StateNeed::kStep);
  EXPECT_EQ(repair.members[1].need, StateNeed::kHolds);
  EXPECT_EQ(repair.members[2].need, StateNeed::kStep);
  EXPECT_THAT(repair.left_behind, IsEmpty());
}

TEST(RepairTest, NobodyNeedsAnythingWhereAllStandAtOneStep) {
  const RepairDecision repair = DecideRepair({{"a", {1}, 6}, {"b", {2}, 6}});
  EXPECT_EQ(repair.stands_at, 6u);
  for (const Member& member : repair.members) EXPECT_EQ(member.need, StateNeed::kHolds);
}

TEST(RepairTest, WhoIsTwoStepsBehindIsLeftOut) {
  const RepairDecision repair = DecideRepair({{"a", {1}, 5}, {"b", {2}, 7}});
  EXPECT_THAT(repair.left_behind, ElementsAre("a"));
  ASSERT_EQ(repair.members.size(), 1u);
  EXPECT_EQ(repair.members[0].name, "b");
}

TEST(ContinuationTest, TheSameMembersGetTheSamplesAndRatesThatTheyWouldHaveHad) {
  const Round round = ParallelRound("abc");
  for (uint64_t step = 0; step <= 8; ++step) {
    ASSERT_OK_AND_ASSIGN(const Round rest, DecideContinuation(round, Linear(), At(step, "abc")));
    EXPECT_EQ(rest.id, round.id);
    EXPECT_EQ(rest.group, GroupId{5});
    EXPECT_EQ(rest.first_step, step);
    EXPECT_EQ(rest.length, 8 - step);
    for (uint64_t i = step; i < 8; ++i) EXPECT_EQ(rest.rates[i - step], round.rates[i]);
    EXPECT_EQ(rest.after.position, round.after.position);
    EXPECT_THAT(rest.after.returned, IsEmpty());
    EXPECT_EQ(rest.so_far.ledger.position, 9 * step);
    if (step == 8) continue;
    EXPECT_EQ(rest.members[1].runs[0].first, 9 * step + 1);
  }
}

TEST(ContinuationTest, ACommitCountsTheStepsOfAllOrdersOnce) {
  Round round = ParallelRound("abc");
  for (RoundMember& member : round.members) {
    member.stands_at = 5;
    member.loss_steps = 5;
    member.loss_sum = 5 * 4.0;
  }
  ASSERT_OK_AND_ASSIGN(const Round rest, DecideContinuation(round, Linear(), At(5, "ac")));
  EXPECT_EQ(SamplesOf(rest), 27u);
  const CommitRecord commit = CommitAll(rest);
  EXPECT_EQ(commit.round, RoundId{3});
  EXPECT_EQ(commit.first_step, 0u);
  EXPECT_EQ(commit.length, 8u);
  EXPECT_EQ(commit.rate_first, 1.0);
  EXPECT_EQ(commit.attempts, 2u);
  EXPECT_EQ(commit.samples, 72u);
  EXPECT_EQ(commit.ledger.samples_used, 72u);
  EXPECT_EQ(commit.ledger.position, 72u);
  EXPECT_THAT(commit.members, ElementsAre("a", "c"));
  EXPECT_THAT(commit.contributors, ElementsAre("a", "b", "c"));
  EXPECT_DOUBLE_EQ(commit.mean_loss, (5 * 4.0 + 3 * 2.0) / 8);
}

TEST(ContinuationTest, OneWhoseOrderDidNoStepIsNoContributor) {
  const Round round = ParallelRound("abc");
  ASSERT_OK_AND_ASSIGN(const Round rest, DecideContinuation(round, Linear(), At(0, "bc")));
  EXPECT_THAT(CommitAll(rest).contributors, ElementsAre("b", "c"));
}

TEST(ContinuationTest, DoneSamplesOfOneThatWasNotFiniteAreDropped) {
  Round round = ParallelRound("abc");
  round.members[1].finite = false;
  ASSERT_OK_AND_ASSIGN(const Round rest, DecideContinuation(round, Linear(), At(4, "abc")));
  const CommitRecord commit = CommitAll(rest);
  EXPECT_EQ(commit.ledger.samples_dropped, 12u);  // Three a step, in four steps.
  EXPECT_EQ(commit.samples, 60u);
  EXPECT_EQ(commit.ledger.samples_used, 60u);
}

TEST(ContinuationTest, ARoundMayGoOnMoreThanOnce) {
  const Round round = ParallelRound("abc");
  ASSERT_OK_AND_ASSIGN(const Round second, DecideContinuation(round, Linear(), At(2, "ab")));
  ASSERT_OK_AND_ASSIGN(const Round third, DecideContinuation(second, Linear(), At(6, "b")));
  ASSERT_OK_AND_ASSIGN(const Round last, DecideContinuation(third, Linear(), At(8, "b")));
  EXPECT_EQ(last.length, 0u);
  EXPECT_EQ(last.so_far.steps, 8u);
  EXPECT_EQ(last.so_far.orders, 3u);
  const CommitRecord commit = CommitAll(last);
  EXPECT_EQ(commit.length, 8u);
  EXPECT_EQ(commit.samples, 72u);
  EXPECT_EQ(commit.ledger.samples_used, 72u);
  EXPECT_THAT(commit.contributors, ElementsAre("a", "b", "c"));
}

// What a later term needs is in the order's record.
TEST(ContinuationTest, TheOrderSaysWhatCameBeforeIt) {
  const Round round = ParallelRound("ab");
  EXPECT_FALSE(RecordOf(round, absl::UnixEpoch()).so_far.has_value());
  ASSERT_OK_AND_ASSIGN(const Round rest, DecideContinuation(round, Linear(), At(8, "b")));
  const OrderRecord record = RecordOf(rest, absl::UnixEpoch());
  EXPECT_EQ(record.length, 0u);
  ASSERT_TRUE(record.so_far.has_value());
  EXPECT_EQ(record.so_far->steps, 8u);
  EXPECT_EQ(record.so_far->ledger.samples_used, 72u);
  EXPECT_THAT(record.so_far->contributors, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace rondo::server
