// Rounds that are disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/job_machine.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DuplicatesTest : public testing::TestWithParam<uint64_t> {};

TEST_P(DuplicatesTest, ChangeNothingInWhateverOrderMessagesArrive) {  // Rule 3.
  std::vector<CommitRecord> commits[2];
  for (int i = 0; i < 2; ++i) {
    Script script(SmallJob(3, 3), i == 0 ? 1 : GetParam());
    script.twice = i == 1;
    for (const char* name : {"a", "b", "c"}) script.Join(name);
    script.Run();
    ASSERT_TRUE(script.finish);
    commits[i] = script.Records<CommitRecord>();
    EXPECT_EQ(script.Records<OrderRecord>().size(), commits[i].size());
    EXPECT_EQ(script.Records<EvaluationRecord>().size(), 1u);
  }
  ASSERT_EQ(commits[0].size(), commits[1].size());
  for (size_t i = 0; i < commits[0].size(); ++i) {
    EXPECT_EQ(commits[0][i].state_hash, commits[1][i].state_hash);
    EXPECT_EQ(commits[0][i].samples, commits[1][i].samples);
    EXPECT_EQ(commits[0][i].bytes_sent, commits[1][i].bytes_sent);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DuplicatesTest, testing::Range<uint64_t>(2, 22));

TEST(FenceTest, MessagesOfAnOlderTermOrAnotherJobAreDropped) {  // S70
  MidRound mid;
  mid.script.SayAs(mid.a->stream, {mid.script.config.job_id, {0}, mid.ReadyOfA()});
  mid.script.SayAs(mid.a->stream, {"other-job", {1}, mid.ReadyOfA()});
  mid.script.Run();
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
  mid.script.SayAs(mid.a->stream, {mid.script.config.job_id, {1}, mid.ReadyOfA()});
  mid.script.Run();
  EXPECT_EQ(mid.script.Records<CommitRecord>().size(), 1u);
}

TEST(FenceTest, MessagesOfAReplacedStreamAreDropped) {
  MidRound mid;
  const StreamId old = mid.a->stream;
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 2, false}, {}};
  mid.script.Redial(*mid.a);
  mid.script.Run();
  EXPECT_EQ(mid.a->Heard<Welcome>().back().order_fate, OrderFate::kRenewed);
  mid.script.SayAs(old, {mid.script.config.job_id, {1}, mid.ReadyOfA()});
  mid.script.Run();
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
}

TEST(RoundTest, TheLengthOfARoundIsFixedAtItsStart) {  // S30
  MidRound mid;
  mid.script.Pass(absl::Seconds(100));
  EXPECT_EQ(mid.script.Records<OrderRecord>().size(), 1u);
  EXPECT_EQ(mid.a->Heard<Order>().size(), 1u);
}

TEST(RoundTest, AReadyWithOtherStepsIsRefused) {
  MidRound mid;
  Ready ready = mid.ReadyOfA();
  ready.steps = 3;
  mid.script.Say(*mid.a, ready);
  mid.script.Run();
  ASSERT_TRUE(mid.a->refused);
  EXPECT_EQ(mid.a->refused->reason, RefuseReason::kProtocol);
}

TEST(RoundTest, SurvivorsFinishAndTheSamplesOfTheDeadAreHandedOutAgain) {  // S01, S46, rule 11
  MidRound mid;
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(1));
  const auto commits = mid.script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_THAT(commits[0].members, ElementsAre("a", "b"));
  EXPECT_THAT(commits[0].contributors, ElementsAre("b"));
  EXPECT_EQ(commits[0].samples, 20u);
  EXPECT_EQ(commits[0].ledger.returned.size(), 1u);
  const auto groups = mid.script.Records<GroupRecord>();
  EXPECT_EQ(groups[1].purpose, Purpose::kRetry);
  mid.script.Pass(absl::Seconds(60));  // Until a is lost and told nothing more.
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  const CommitRecord last = mid.script.Records<CommitRecord>().back();
  EXPECT_TRUE(last.ledger.returned.empty());
  EXPECT_EQ(last.ledger.samples_used, 280u);  // T is fixed: round 1 had 20 samples fewer.
  EXPECT_EQ(mid.script.Records<EndRecord>()[0].samples_unused, 20u);
}

TEST(RoundTest, AWorkerThatComesBackWithinTheReturnTimeIsWaitedFor) {  // Rule 12.
  MidRound mid;
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Milliseconds(300));
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 4, true}, {}};
  mid.a->mute_ready = false;
  mid.script.Redial(*mid.a);
  mid.script.Run();
  const auto commits = mid.script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_THAT(commits[0].contributors, ElementsAre("a", "b"));
}

TEST(RoundTest, AFailedLocalStepEndsTheJobWithItsCause) {  // Nobody waits for its Ready.
  MidRound mid;
  mid.script.Say(
      *mid.a, Failed{{1}, {1}, 0, 2, false, "", FailureCause::kInternal, "sample 7 has label -1"});
  mid.script.Run();
  const auto ends = mid.script.Records<EndRecord>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].state, EndState::kFailed);
  EXPECT_THAT(ends[0].reason, HasSubstr("sample 7 has label -1"));
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
  for (const ScriptedWorker* worker : {mid.a, mid.b}) {
    EXPECT_EQ(worker->exit_code, 1u);
    ASSERT_EQ(worker->Heard<Goodbye>().size(), 1u);
    EXPECT_THAT(worker->Heard<Goodbye>()[0].text, HasSubstr("sample 7 has label -1"));
  }
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
}

TEST(RoundTest, AMemberThatDroppedItsOrderStays) {
  MidRound mid;
  mid.script.Say(*mid.a, Failed{{1}, {1}, 0, 2, false, "", FailureCause::kAborted, "dropped"});
  mid.script.Run();
  EXPECT_TRUE(mid.a->Heard<Goodbye>().empty());
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
}

TEST(RoundTest, AMemberThatDiesInTheReduceCostsAnAttemptNotTheRound) {  // S01, S05, S88
  MidRound mid;
  mid.b->mute_reduced = true;
  mid.a->mute_reduced = true;
  mid.a->mute_ready = false;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_EQ(mid.b->Heard<Reduce>().size(), 1u);
  mid.script.Break(*mid.a);
  mid.b->mute_reduced = false;
  mid.script.Say(*mid.b, Failed{{1}, {1}, 1, 0, false, "a", FailureCause::kPeer, "reset"});
  mid.script.Pass(absl::Seconds(2));
  EXPECT_EQ(mid.b->Heard<Abort>().size(), 1u);
  const auto commits = mid.script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_EQ(commits[0].attempt, 2u);
  EXPECT_EQ(commits[0].round, RoundId{1});
  EXPECT_NE(commits[0].group, GroupId{1});
  EXPECT_THAT(commits[0].contributors, ElementsAre("b"));
  EXPECT_EQ(mid.b->Heard<Order>()[0].round, RoundId{1});
  EXPECT_EQ(mid.b->Heard<Order>()[1].round, RoundId{2});  // Not ordered again.
}

TEST(RoundTest, AReduceThatNobodyEndsIsEndedByItsLimit) {  // S03
  MidRound mid(2, 2);
  mid.a->mute_reduced = true;
  mid.b->mute_reduced = true;
  mid.a->mute_ready = false;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  mid.script.Pass(absl::Seconds(200));  // S14: five attempts, then the job stops and says why.
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
  EXPECT_THAT(mid.script.finish->reason, HasSubstr("failed 5 times"));
  EXPECT_EQ(mid.a->exit_code, 1u);
  EXPECT_EQ(mid.a->Heard<Reduce>().size(), 5u);
}

TEST(RoundTest, TheOddOneOutTakesTheMajoritysState) {  // S06, rule 8
  Script script(SmallJob(3, 3));
  script.Join("a");
  ScriptedWorker& b = script.Join("b");
  script.Join("c");
  b.wrong_hash = 666;
  script.Run();
  const auto groups = script.Records<GroupRecord>();
  ASSERT_GE(groups.size(), 2u);
  EXPECT_EQ(groups[1].members[1].need, StateNeed::kAll);
  EXPECT_TRUE(script.Noted("odd_result"));
}

// Rule 8: however late, it learns that its result was outvoted, and drops its state.
TEST(RoundTest, AnOddOneOutThatWasAwayHearsOfTheCommit) {
  Script script(SmallJob(3, 3));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  script.Join("c");
  a.mute_ready = true;
  b.wrong_hash = 666;
  script.Run();
  b.mute_endpoint = true;  // So that the next group waits.
  script.Say(a, Ready{a.order->group, a.order->round, 4, 16, 4, true, 1, {}});
  script.Run();
  ASSERT_EQ(script.Records<CommitRecord>().size(), 1u);
  const CommitRecord commit = script.Records<CommitRecord>()[0];
  script.Break(b);
  const StagedResult staged{commit.round, commit.group, commit.attempt, 666, true};
  b.returning = Returning{};
  b.returning->staged = {staged};
  b.heard.clear();
  script.Redial(b);
  script.Run();
  ASSERT_FALSE(b.Heard<Welcome>().empty());
  EXPECT_EQ(b.Heard<Welcome>()[0].fates[0].fate, Fate::kOpen);
  ASSERT_FALSE(b.Heard<Commit>().empty());
  EXPECT_EQ(b.Heard<Commit>()[0].state_hash, commit.state_hash);
}

TEST(RoundTest, ResultsThatKeepDifferingStopTheJob) {  // Rule 6.
  Script script(SmallJob(2, 2));
  script.Join("a");
  script.Join("b").wrong_hash = 666;
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 1);
  EXPECT_TRUE(script.Records<CommitRecord>().empty());
}

TEST(RoundTest, OneThatIsNotFiniteHasNoWeight) {  // S50
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  script.Join("b").finite = false;
  script.Run();
  const auto commits = script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_EQ(a.Heard<Reduce>()[0].contributors[1].weight, 0);
  EXPECT_THAT(commits[0].contributors, ElementsAre("a"));
  EXPECT_EQ(commits[0].ledger.samples_dropped, 20u);
  EXPECT_TRUE(script.Noted("not_finite"));
  EXPECT_EQ(script.Records<GroupRecord>()[1].members[1].need, StateNeed::kMoments);
}

// Rule 15: none left: zeros, and named. The same members form a group for it.
TEST(RoundTest, MomentsThatNobodyHasGoodOnesOfBeginAtZeroAndAreNamed) {
  Script script(SmallJob(2, 2));
  script.Join("a").sick_moments = true;
  ScriptedWorker& b = script.Join("b");
  b.sick_moments = true;
  script.RunOne();
  for (int i = 0; i < 1000 && script.Records<CommitRecord>().empty(); ++i) script.RunOne();
  // The first group has healed them; the first round makes them sick again.
  EXPECT_EQ(script.Records<CommitRecord>().size(), 1u);
  script.workers["a"]->sick_moments = b.sick_moments = true;
  for (int i = 0; i < 1000 && script.Records<CommitRecord>().size() < 2; ++i) script.RunOne();
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
  const auto groups = script.Records<GroupRecord>();
  ASSERT_EQ(groups.size(), 2u);
  for (const Member& member : groups[1].members) EXPECT_EQ(member.need, StateNeed::kHolds);
  std::vector<std::string> named;
  for (const NoticeRecord& notice : script.Records<NoticeRecord>()) {
    if (notice.kind == "moments_zeroed") named.push_back(notice.worker);
  }
  EXPECT_THAT(named, testing::UnorderedElementsAre("a", "b"));
}

TEST(RoundTest, TheTailOfAnEpochIsReportedOnceAndCountedAlways) {
  MachineConfig config = SmallJob(1, 1);
  config.batch_global = 30;  // Of 100 samples, over 3 epochs.
  Script script(config);
  script.Join("a");
  script.Run();
  ASSERT_TRUE(script.finish);
  int notes = 0;
  for (const NoticeRecord& notice : script.Records<NoticeRecord>()) {
    notes += notice.kind == "samples_dropped" ? 1 : 0;
  }
  EXPECT_EQ(notes, 1);
  EXPECT_EQ(script.Records<CommitRecord>().back().ledger.samples_dropped, 20u);
  EXPECT_EQ(script.machine.status(script.now).samples_dropped, 20u);
}

// S66: the coordinator does not remember every commit.
TEST(RoundTest, AHolderOfACommitThatIsLongPastTakesAllFromAPeer) {
  for (const uint64_t held : {uint64_t{1'040}, uint64_t{1}}) {
    MachineConfig config = SmallJob(1, 2);
    config.epochs = 0;
    config.schedule.steps = 4'404;
    config.has_test_set = true;
    config.evaluate_every_steps = 4'200;  // There the job stops until a says the result.
    Script script(config);
    ScriptedWorker& a = script.Join("a");
    a.mute_evaluated = true;
    script.Pass(absl::Seconds(31));
    const auto commits = script.Records<CommitRecord>();
    ASSERT_EQ(commits.size(), 1'050u);
    ScriptedWorker& b = script.Join("b");
    script.Break(b);
    b.returning = Returning{config.job_id, {held}, commits[held - 1].state_hash, {}, {}};
    script.Redial(b);
    script.Run();
    const EvaluateNow asked = a.Heard<EvaluateNow>().back();
    Evaluated evaluated;
    evaluated.group = asked.group;
    evaluated.round = asked.round;
    evaluated.count = 10;
    script.Say(a, evaluated);
    script.Run();
    const auto assembled = b.Heard<Assemble>();
    ASSERT_FALSE(assembled.empty());
    EXPECT_EQ(assembled[0].members[1].need, held == 1 ? StateNeed::kAll : StateNeed::kValues);
  }
}

TEST(RoundTest, AllNotFiniteStopsTheJob) {
  Script script(SmallJob(2, 2));
  script.Join("a").finite = false;
  script.Join("b").finite = false;
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 1);
}

TEST(RoundTest, AMissedCommitIsAnsweredInWelcome) {  // Rule 7.
  MidRound mid;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  const auto commit = mid.script.Records<CommitRecord>()[0];
  // a lost the stream before it heard of the commit: it has the staged result and its order.
  mid.script.Break(*mid.a);
  mid.a->returning =
      Returning{mid.script.config.job_id,
                {},
                0,
                OrderInHand{{1}, {1}, {1}, 4, true},
                {{commit.round, commit.group, commit.attempt, commit.state_hash, true}}};
  mid.a->heard.clear();
  mid.script.Redial(*mid.a);
  mid.script.Run();
  const Welcome welcome = mid.a->Heard<Welcome>()[0];
  ASSERT_EQ(welcome.fates.size(), 1u);
  EXPECT_EQ(welcome.fates[0].fate, Fate::kCommitted);
  EXPECT_EQ(welcome.order_fate, OrderFate::kWithdrawn);
  // It holds the state now, so it gets the open order at once.
  ASSERT_EQ(mid.a->Heard<Order>().size(), 1u);
  EXPECT_EQ(mid.a->Heard<Order>()[0].round, RoundId{2});
}

TEST(ParallelTest, RunsAsRoundsOfGradientReduces) {
  MachineConfig config = MidRound::Job(2, 2, true);
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Join("b");
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
  EXPECT_EQ(script.Records<CommitRecord>().size(), 6u);
  EXPECT_EQ(script.Records<EndRecord>()[0].syncs, 30u);
  EXPECT_TRUE(a.Heard<Reduce>().empty());
}

TEST(ParallelTest, ABrokenStreamAloneStopsNothing) {  // Rule 19.
  MidRound mid(1, 2, true);
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(3));
  EXPECT_FALSE(mid.script.finish);
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 4, false}, {}};
  mid.a->mute_ready = false;
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
  mid.script.Redial(*mid.a);  // Its order is renewed, and it answers.
  mid.script.Run();
  EXPECT_GE(mid.script.Records<CommitRecord>().size(), 1u);
}

}  // namespace
}  // namespace rondo::server
