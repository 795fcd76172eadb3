// The machine when something goes wrong, or comes late. Rows of SCENARIOS.md are named in comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/job_machine.h"
#include "server/core/ledger.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  return names;
}

// ------------------------------------------------------------------------------------ arrival

TEST(ArrivalTest, OneWhoDiffersFromTheFirstIsRefusedByName) {
  Script script(SmallJob(2, 3));
  script.Join("a");
  script.Run();
  ScriptedWorker& b = script.Join("b");
  b.facts.parameters = 8;
  script.Run();
  ASSERT_TRUE(b.refused);
  EXPECT_EQ(b.refused->reason, RefuseReason::kModel);
  EXPECT_THAT(b.refused->text, HasSubstr("number of parameters is 8"));
  ScriptedWorker& c = script.Join("c");
  c.facts.files[0].sha256 = "xyz";
  script.Run();
  ASSERT_TRUE(c.refused);
  EXPECT_EQ(c.refused->reason, RefuseReason::kFiles);
  EXPECT_THAT(c.refused->text, HasSubstr("file train"));
}

TEST(ArrivalTest, ABatchLargerThanTheTrainingSetIsRefused) {
  MachineConfig config = SmallJob(1, 1);
  config.batch_global = 101;
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Run();
  ASSERT_TRUE(a.refused);
  EXPECT_THAT(a.refused->text, HasSubstr("smaller batch"));
}

TEST(ArrivalTest, AnotherProcessUnderALiveNameWaitsAndComesInWhenTheFirstIsGone) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& first = script.Join("a", 1);
  script.Run();
  script.Handle(StreamOpened{{99}});
  Hello hello;
  hello.name = "a";
  hello.incarnation = {2};
  hello.dial = 1;
  hello.protocol = 1;
  hello.torch_version = "2.15.0";
  script.SayAs({99}, {"", {}, hello});
  EXPECT_EQ(script.closed.back(), StreamId{99});
  script.Break(first);
  ScriptedWorker& second = script.Join("a", 2);
  script.Run();
  EXPECT_EQ(second.Heard<Welcome>().size(), 1u);
  EXPECT_TRUE(script.Noted("worker_lost"));
}

TEST(ArrivalTest, AStreamWithoutHelloIsClosed) {
  Script script(SmallJob(1, 1));
  script.Handle(StreamOpened{{99}});
  script.Pass(absl::Seconds(6));
  EXPECT_THAT(script.closed, ElementsAre(StreamId{99}));
}

TEST(ArrivalTest, AnUnreadableMessageRefusesItsSender) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Handle(Malformed{a.stream, "Ready.steps: is beyond 2^62"});
  script.Run();
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->reason, RefuseReason::kProtocol);
}

TEST(ArrivalTest, TheStatusNamesWhoIsMissing) {  // S17
  Script script(SmallJob(2, 2));
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_EQ(script.machine.status(script.now).state, JobState::kWaiting);
  EXPECT_THAT(script.machine.status(script.now).reason, HasSubstr("1 of at least 2"));
  b.mute_ready = true;
  script.Join("a");
  script.Run();
  EXPECT_THAT(script.machine.status(script.now).reason, HasSubstr("waits for b"));
}

// ------------------------------------------------------------------------------------ groups

TEST(GroupTest, OneWithOtherInitialParametersIsRefused) {  // S25
  Script script(SmallJob(2, 3));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  ScriptedWorker& c = script.Join("c");
  c.wrong_state = 666;
  script.Run();
  ASSERT_TRUE(c.refused);
  EXPECT_EQ(c.refused->reason, RefuseReason::kModel);
  EXPECT_EQ(script.Records<CommitRecord>().size(), 0u);
  script.Pass(absl::Seconds(30));  // Two are enough, once the wait is over.
  EXPECT_EQ(a.exit_code, 0u);
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_THAT(NamesOf(script.Records<GroupRecord>().back().members), ElementsAre("a", "b"));
}

TEST(GroupTest, AMemberThatDoesNotFormIsLeftBehind) {
  Script script(SmallJob(2, 3));
  script.Join("a");
  script.Join("b");
  script.Join("c").mute_formed = true;
  script.Run();
  script.Pass(absl::Seconds(95));
  const auto groups = script.Records<GroupRecord>();
  ASSERT_GE(groups.size(), 2u);
  EXPECT_THAT(NamesOf(groups[0].members), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesOf(groups[1].members), ElementsAre("a", "b"));
  EXPECT_EQ(script.finish->exit_code, 0);
}

TEST(GroupTest, AJoinerComesInAtTheBorderAndTakesTheState) {  // S20, S21
  Script script(SmallJob(1, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Pass(absl::Seconds(29));
  a.mute_ready = true;
  script.Pass(absl::Seconds(2));
  ASSERT_TRUE(a.order);
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_TRUE(b.Heard<Assemble>().empty());  // Not in the middle of a round.
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  ASSERT_FALSE(b.Heard<Assemble>().empty());
  const Assemble assemble = b.Heard<Assemble>()[0];
  EXPECT_EQ(assemble.purpose, Purpose::kJoin);
  EXPECT_EQ(assemble.members[0].need, StateNeed::kHolds);
  EXPECT_EQ(assemble.members[1].need, StateNeed::kAll);
  EXPECT_EQ(assemble.giver, 0u);
  EXPECT_EQ(assemble.round, RoundId{1});
  EXPECT_EQ(assemble.state_hash, script.Records<CommitRecord>()[0].state_hash);
  EXPECT_EQ(b.exit_code, 0u);
}

TEST(GroupTest, RatesAreNotRescaledWhenTheGlobalBatchChanges) {  // S37, S26
  MachineConfig config = SmallJob(1, 2);
  config.batch_global = 0;
  config.batch_per_worker = 5;
  config.epochs = 0;
  config.schedule.steps = 12;
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Run();
  a.mute_ready = true;
  script.Pass(absl::Seconds(31));
  script.Join("b");
  script.Run();
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 20, 4, true, 1, {}});
  script.Run();
  EXPECT_TRUE(script.Noted("global_batch_changed"));
  const auto commits = script.Records<CommitRecord>();
  ASSERT_EQ(commits.size(), 3u);
  EXPECT_EQ(commits[0].samples, 20u);
  EXPECT_EQ(commits[1].samples, 40u);
  EXPECT_EQ(commits[0].rate_first, commits[1].rate_first);
  const Reduce reduce = a.Heard<Reduce>().back();
  EXPECT_EQ(reduce.contributors[0].weight, reduce.contributors[1].weight);
}

// ------------------------------------------------------------------------------------ rounds

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

// Two workers in their first round, a has not said that it is ready.
struct MidRound {
  explicit MidRound(uint64_t min = 1, uint64_t max = 2, bool parallel = false)
      : script(Job(min, max, parallel)) {
    a = &script.Join("a");
    b = &script.Join("b");
    a->mute_ready = true;
    script.Run();
  }
  static MachineConfig Job(uint64_t min, uint64_t max, bool parallel) {
    MachineConfig config = SmallJob(min, max);
    if (parallel) config.policy = {.policy = SyncPolicy::kParallel, .round_steps = 5};
    return config;
  }
  Ready ReadyOfA() const {
    Ready ready{a->order->group, a->order->round, a->order->length, 0, 4, true, 1, {}};
    return ready;
  }

  Script script;
  ScriptedWorker* a;
  ScriptedWorker* b;
};

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

// ------------------------------------------------------------------------------------ parallel

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

TEST(ParallelTest, AFailedStepEndsTheJobWithItsCause) {
  MidRound mid(2, 2, true);
  mid.script.Say(*mid.a, Failed{{1}, {1}, 0, 3, false, "b", FailureCause::kPeer, "reset"});
  mid.script.Pass(absl::Seconds(2));
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
  EXPECT_THAT(mid.script.finish->reason, HasSubstr("step 3: a (peer b): reset"));
}

TEST(ParallelTest, ABrokenStreamAloneStopsNothing) {  // Rule 19.
  MidRound mid(1, 2, true);
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(3));
  EXPECT_FALSE(mid.script.finish);
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 4, false}, {}};
  mid.a->mute_ready = false;
  mid.script.Redial(*mid.a);
  mid.script.Run();
  Ready ready = mid.ReadyOfA();
  ready.reduced.state_hash = mid.b->staged.begin()->second;
  mid.script.Say(*mid.a, ready);
  mid.script.Run();
  EXPECT_GE(mid.script.Records<CommitRecord>().size(), 1u);
}

// ------------------------------------------------------------------------------------ leaving

TEST(LeaveTest, ALeaverFinishesItsOrderIfItsGraceAllows) {  // S75, rule 16
  MidRound mid(1, 2);
  mid.script.Pass(absl::Seconds(2));
  mid.script.Say(*mid.a, Leave{{1}, 2, 30, "SIGTERM"});
  mid.script.Run();
  EXPECT_FALSE(mid.a->exit_code);
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 5u);
  EXPECT_THAT(mid.script.Records<CommitRecord>()[0].contributors, ElementsAre("a", "b"));
  EXPECT_EQ(mid.script.finish->exit_code, 0);
}

TEST(LeaveTest, ALeaverWithoutTimeGoesAtOnceAndItsSamplesReturn) {
  MidRound mid(1, 2);
  mid.script.Pass(absl::Seconds(10));
  mid.script.Say(*mid.a, Leave{{1}, 1, 5, "SIGTERM"});
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 5u);
  EXPECT_THAT(mid.script.Records<CommitRecord>()[0].contributors, ElementsAre("b"));
  EXPECT_EQ(CountSamples(mid.script.Records<CommitRecord>()[0].ledger.returned), 20u);
}

TEST(LeaveTest, TheLastHolderStaysUntilAnotherHasTheState) {  // Rule 14.
  Script script(SmallJob(1, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  a.mute_ready = true;
  script.Pass(absl::Seconds(31));
  script.Say(a, Leave{{1}, 0, 60, "SIGTERM"});
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_FALSE(a.exit_code);
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  EXPECT_EQ(a.exit_code, 5u);
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_EQ(script.Records<EndRecord>()[0].state, EndState::kDone);
}

// ------------------------------------------------------------------------------------ the end

TEST(StopTest, EndsAtTheNextBorderWithACheckpoint) {
  MidRound mid;
  mid.script.Handle(StopRequested{"Ctrl-C"});
  mid.script.Run();
  EXPECT_FALSE(mid.script.finish);
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  EXPECT_EQ(mid.script.checkpoints.size(), 1u);
  EXPECT_EQ(mid.script.Records<EndRecord>()[0].state, EndState::kStopped);
  EXPECT_EQ(mid.script.Records<EndRecord>()[0].step, 4u);
  EXPECT_EQ(mid.a->exit_code, 0u);
}

TEST(StopTest, EndsAtOnceWhenNothingHasBegun) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Handle(StopRequested{"Ctrl-C"});
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
  EXPECT_EQ(a.exit_code, 0u);
}

TEST(EndTest, ACheckpointThatCannotBeWrittenFailsTheJob) {
  Script script(SmallJob(1, 1));
  script.checkpoint_ok = false;
  script.Join("a");
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 1);
  EXPECT_THAT(script.finish->reason, HasSubstr("disk full"));
}

TEST(EndTest, WhoeverIsAwayAtTheEndIsToldWhenItComesBack) {  // S68
  Script script(SmallJob(1, 2));
  script.Join("a");
  ScriptedWorker& b = script.Join("b");
  b.mute_evaluated = true;
  script.Run();
  script.Break(b);
  script.Pass(absl::Seconds(2));
  EXPECT_EQ(script.Records<EndRecord>().size(), 1u);
  EXPECT_FALSE(script.finish);
  script.Redial(b);
  script.Run();
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_TRUE(script.finish);
}

TEST(EndTest, AnEvaluationThatLosesAMemberIsRepeated) {
  Script script(SmallJob(1, 2));
  script.Join("a");
  ScriptedWorker& b = script.Join("b");
  b.mute_evaluated = true;
  script.Run();
  EXPECT_TRUE(script.Records<EvaluationRecord>().empty());
  script.Break(b);
  script.Pass(absl::Seconds(1));
  EXPECT_EQ(script.Records<EvaluationRecord>().size(), 1u);
  EXPECT_EQ(script.Records<EvaluationRecord>()[0].count, 5u);  // a alone.
}

TEST(EndTest, EvaluatesAndSavesWhenDue) {
  MachineConfig config = SmallJob(1, 1);
  config.evaluate_every_epochs = 1;
  config.checkpoint_every_steps = 10;
  Script script(config);
  script.Join("a");
  script.Run();
  std::vector<uint64_t> evaluated;
  for (const auto& e : script.Records<EvaluationRecord>()) evaluated.push_back(e.step);
  EXPECT_THAT(evaluated, ElementsAre(12, 20, 30));  // Borders at or after 10, 20, 30.
  std::vector<uint64_t> saved;
  for (const auto& c : script.Records<CheckpointRecord>()) saved.push_back(c.step);
  EXPECT_THAT(saved, ElementsAre(12, 20, 30));
}

TEST(EndTest, WithoutAnyHolderTheJobFailsOnceAllAreLost) {
  Script script(SmallJob(1, 1));
  ScriptedWorker& a = script.Join("a");
  a.mute_evaluated = true;
  script.Run();
  script.Break(a);
  script.Pass(absl::Seconds(15));
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 1);
  EXPECT_THAT(script.finish->reason, HasSubstr("no worker holds the state"));
}

TEST(EndTest, BeforeTheFirstCommitTheJobStartsAnew) {  // Rule 21.
  MidRound mid(1, 2);
  mid.b->connected = false;
  mid.script.Break(*mid.a);
  mid.script.Break(*mid.b);
  mid.script.Pass(absl::Seconds(15));
  EXPECT_EQ(mid.script.Records<VoidRecord>().size(), 1u);
  mid.script.Join("a", 7);
  mid.script.Join("b", 8);
  mid.script.Run();
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  EXPECT_EQ(mid.script.Records<CommitRecord>()[0].round, RoundId{2});  // Numbers only grow.
}

TEST(WaitTest, BelowMinimumTheJobWaitsAndGivesUpWhenTold) {  // S15
  MachineConfig config = SmallJob(2, 2);
  config.limits.give_up = absl::Seconds(20);
  Script script(config);
  script.Join("a");
  script.Run();
  script.Pass(absl::Seconds(19));
  EXPECT_FALSE(script.finish);
  script.Pass(absl::Seconds(2));
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 1);
}

}  // namespace
}  // namespace rondo::server
