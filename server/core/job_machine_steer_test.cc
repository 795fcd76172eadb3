// What users ask of a running job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

History HistoryOf(const Script& script) {
  History history;
  for (const Record& record : script.records) Apply(record, &history);
  return history;
}

void FinishRound(MidRound& mid) {
  mid.a->mute_ready = false;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
}

TEST(PauseTest, RestsAtTheNextBorderAndKeepsTheWorkers) {
  MidRound mid(2, 2);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(PauseRequested{"lunch"}));
  EXPECT_FALSE(answer.done);
  EXPECT_EQ(answer.step, 4u);
  EXPECT_EQ(mid.script.machine.status(mid.script.now).state, JobState::kRunning);
  FinishRound(mid);
  mid.script.Pass(absl::Seconds(100));
  const StatusView view = mid.script.machine.status(mid.script.now);
  EXPECT_EQ(view.state, JobState::kPaused);
  EXPECT_EQ(view.reason, "`rondo resume` lets it go on (lunch) (for 100 s)");
  EXPECT_EQ(view.step, 4u);
  EXPECT_THAT(view.members, ElementsAre("a", "b"));
  EXPECT_EQ(mid.script.Records<OrderRecord>().size(), 1u);
  EXPECT_TRUE(mid.script.Noted("paused"));
  EXPECT_FALSE(mid.a->exit_code);
}

TEST(PauseTest, ResumesWhereItRested) {
  MidRound mid(2, 2);
  ASSERT_OK(mid.script.Ask(PauseRequested{""}));
  FinishRound(mid);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(ResumeRequested{}));
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(answer.step, 4u);
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  EXPECT_EQ(mid.script.Records<GroupRecord>().size(), 1u);  // The same group goes on.
}

TEST(PauseTest, IsInTheJournalUntilItIsResumed) {
  MidRound mid(2, 2);
  ASSERT_OK(mid.script.Ask(PauseRequested{"lunch"}));
  EXPECT_EQ(HistoryOf(mid.script).pause, "lunch");
  ASSERT_OK(mid.script.Ask(ResumeRequested{}));
  EXPECT_FALSE(HistoryOf(mid.script).pause);
}

TEST(PauseTest, ANewTermRests) {
  MachineConfig config = SmallJob(2, 2);
  config.term = {2};
  History history;
  Apply(TermRecord{{1}, absl::UnixEpoch()}, &history);
  Apply(RequestRecord{RequestKind::kPause, "lunch", "", {}, absl::UnixEpoch()}, &history);
  JobMachine machine(config, history);
  machine.Start(absl::UnixEpoch());
  const StatusView view = machine.status(absl::UnixEpoch());
  EXPECT_EQ(view.state, JobState::kPaused);
  EXPECT_THAT(view.reason, HasSubstr("lunch"));
}

TEST(PauseTest, BeforeTheStartNoGroupIsFormed) {
  Script script(SmallJob(2, 2));
  ASSERT_OK(script.Ask(PauseRequested{""}));
  script.Join("a");
  script.Join("b");
  script.Pass(absl::Seconds(60));
  EXPECT_TRUE(script.Records<GroupRecord>().empty());
  ASSERT_OK(script.Ask(ResumeRequested{}));
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
}

TEST(PauseTest, WhoComesAndGoesMeanwhileDoesNotEndTheJob) {
  MachineConfig config = SmallJob(2, 3);
  config.limits.give_up = absl::Seconds(20);
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  a.mute_ready = true;
  script.Run();
  script.Pass(absl::Seconds(31));
  ASSERT_OK(script.Ask(PauseRequested{""}));
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  script.Break(b);
  script.Pass(absl::Seconds(60));
  EXPECT_EQ(script.machine.status(script.now).state, JobState::kPaused);
  script.Join("c");
  script.Run();
  ASSERT_OK(script.Ask(ResumeRequested{}));
  script.Pass(absl::Seconds(5));
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0) << script.finish->reason;
}

TEST(PauseTest, AStopEndsAPausedJob) {
  MidRound mid(2, 2);
  ASSERT_OK(mid.script.Ask(PauseRequested{""}));
  FinishRound(mid);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(StopRequested{"enough"}));
  EXPECT_EQ(answer.step, 4u);
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.Records<EndRecord>()[0].state, EndState::kStopped);
  EXPECT_EQ(mid.script.checkpoints.size(), 1u);
}

TEST(PauseTest, TheLastRoundCannotBePaused) {
  MachineConfig config = SmallJob(1, 1);
  config.policy.base_steps = 100;  // One round.
  Script script(config);
  script.Join("a").mute_ready = true;
  script.Run();
  EXPECT_THAT(script.Ask(PauseRequested{""}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the last one")));
}

TEST(SteerTest, AskingTwiceChangesNothing) {
  MidRound mid(1, 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(mid.script.Ask(PauseRequested{"lunch"}));
    ASSERT_OK(mid.script.Ask(CheckpointRequested{}));
    ASSERT_OK(mid.script.Ask(DrainRequested{"a"}));
  }
  EXPECT_EQ(mid.script.Records<RequestRecord>().size(), 3u);
  for (int i = 0; i < 2; ++i) ASSERT_OK(mid.script.Ask(ResumeRequested{}));
  EXPECT_EQ(mid.script.Records<RequestRecord>().size(), 4u);
}

TEST(SteerTest, AJobThatIsOverSaysSo) {
  Script script(SmallJob(1, 1));
  script.Join("a");
  script.Run();
  ASSERT_TRUE(script.finish);
  const auto over = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the job is over"));
  EXPECT_THAT(script.Ask(PauseRequested{""}), over);
  EXPECT_THAT(script.Ask(ResumeRequested{}), over);
  EXPECT_THAT(script.Ask(DrainRequested{"a"}), over);
  EXPECT_THAT(script.Ask(CheckpointRequested{}), over);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer stop, script.Ask(StopRequested{""}));
  EXPECT_TRUE(stop.done);
}

TEST(DrainTest, AMemberFinishesItsOrderAndLeavesAfterTheCommit) {  // Rule 16.
  MidRound mid(1, 2);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(DrainRequested{"a"}));
  EXPECT_FALSE(answer.done);
  EXPECT_EQ(answer.step, 4u);
  mid.script.Pass(absl::Seconds(30));  // However long it takes.
  EXPECT_FALSE(mid.a->exit_code);
  FinishRound(mid);
  EXPECT_EQ(mid.a->exit_code, 0u);
  EXPECT_EQ(mid.a->Heard<Goodbye>()[0].reason, GoodbyeReason::kDrained);
  const auto commits = mid.script.Records<CommitRecord>();
  EXPECT_THAT(commits[0].contributors, ElementsAre("a", "b"));
  EXPECT_THAT(commits[1].members, ElementsAre("b"));
  EXPECT_EQ(mid.script.finish->exit_code, 0);
}

TEST(DrainTest, ACandidateLeavesAtOnce) {
  Script script(SmallJob(1, 3));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, script.Ask(DrainRequested{"a"}));
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(a.exit_code, 0u);
}

TEST(DrainTest, AnUnknownNameIsAnsweredWithTheNearestOne) {
  MidRound mid(1, 2);
  EXPECT_THAT(mid.script.Ask(DrainRequested{"aa"}),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("did you mean 'a'"), HasSubstr("here are a and b"))));
}

TEST(DrainTest, TheLastHolderStaysUntilAnotherHasTheState) {  // Rule 14.
  Script script(SmallJob(1, 2));
  ScriptedWorker& a = script.Join("a");
  a.mute_ready = true;
  script.Pass(absl::Seconds(31));
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, script.Ask(DrainRequested{"a"}));
  EXPECT_THAT(answer.text, HasSubstr("once another worker holds the state"));
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_FALSE(a.exit_code);
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  EXPECT_EQ(a.exit_code, 0u);
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_EQ(script.Records<GroupRecord>()[1].members[1].need, StateNeed::kAll);
  EXPECT_EQ(script.Records<EndRecord>()[0].state, EndState::kDone);
}

TEST(DrainTest, TheOnlyWorkerLeavesOnceACheckpointIsComplete) {  // Rule 14.
  Script script(SmallJob(1, 1));
  ScriptedWorker& a = script.Join("a");
  a.mute_ready = true;
  script.Run();
  ASSERT_OK(script.Ask(DrainRequested{"a"}));
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  EXPECT_EQ(a.exit_code, 0u);
  ASSERT_EQ(script.checkpoints.size(), 1u);
  EXPECT_EQ(script.checkpoints[0].step, 4u);
}

TEST(DrainTest, AnHeirTakesTheStateEvenBelowTheMinimum) {
  Script script(SmallJob(3, 3));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  ScriptedWorker& c = script.Join("c");
  a.mute_ready = true;
  script.Run();
  script.Break(b);
  script.Break(c);
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Pass(absl::Seconds(11));  // b and c are lost, a has committed alone.
  ScriptedWorker& d = script.Join("d");
  script.Run();
  EXPECT_TRUE(d.Heard<Assemble>().empty());
  ASSERT_OK(script.Ask(DrainRequested{"a"}));
  EXPECT_EQ(a.exit_code, 0u);
  ASSERT_EQ(d.Heard<Assemble>().size(), 1u);
  EXPECT_EQ(script.machine.status(script.now).state, JobState::kWaiting);
}

TEST(DrainTest, BelowTheMinimumTheLastHolderLeavesACheckpoint) {
  MidRound mid(2, 2);
  mid.script.Break(*mid.b);
  FinishRound(mid);
  mid.script.Pass(absl::Seconds(11));  // b is lost: a holds the state alone.
  ASSERT_OK(mid.script.Ask(DrainRequested{"a"}));
  EXPECT_TRUE(mid.a->exit_code);  // A checkpoint of step 4 was made.
  EXPECT_EQ(mid.script.checkpoints.size(), 1u);
}

TEST(DrainTest, SaysWhenTooFewAreLeft) {
  MidRound mid(2, 2);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(DrainRequested{"a"}));
  EXPECT_THAT(answer.text, HasSubstr("workers.min is 2"));
}

TEST(DrainTest, ItsNameIsFreeForANewProcess) {
  MidRound mid(1, 2);
  mid.b->mute_ready = true;
  ASSERT_OK(mid.script.Ask(DrainRequested{"a"}));
  FinishRound(mid);
  EXPECT_EQ(mid.a->exit_code, 0u);
  EXPECT_EQ(HistoryOf(mid.script).drains.at("a"), Incarnation{1});
  mid.script.Join("a", 2);
  mid.script.Run();
  mid.b->mute_ready = false;
  mid.script.Say(*mid.b, Ready{mid.b->order->group, mid.b->order->round, 4, 40, 4, true, 1, {}});
  mid.script.Run();
  EXPECT_THAT(mid.script.Records<CommitRecord>().back().members, ElementsAre("a", "b"));
  EXPECT_TRUE(HistoryOf(mid.script).drains.empty());
}

TEST(DrainTest, OneWhoIsLostIsToldWhenItReturns) {
  MidRound mid(1, 2);
  mid.b->mute_ready = true;
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(11));
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(DrainRequested{"a"}));
  EXPECT_TRUE(answer.done);
  mid.script.Redial(*mid.a);
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 0u);
}

TEST(CheckpointTest, IsMadeAtTheNextBorder) {
  MidRound mid(2, 2);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, mid.script.Ask(CheckpointRequested{}));
  EXPECT_FALSE(answer.done);
  EXPECT_EQ(answer.step, 4u);
  mid.b->mute_ready = true;
  FinishRound(mid);
  ASSERT_EQ(mid.script.checkpoints.size(), 1u);
  EXPECT_EQ(mid.script.checkpoints[0].step, 4u);
}

TEST(CheckpointTest, OfAPausedJobIsMadeAtOnceAndOnlyOnce) {
  MidRound mid(2, 2);
  ASSERT_OK(mid.script.Ask(PauseRequested{""}));
  FinishRound(mid);
  ASSERT_OK(mid.script.Ask(CheckpointRequested{}));
  ASSERT_EQ(mid.script.checkpoints.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer again, mid.script.Ask(CheckpointRequested{}));
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.step, 4u);
  EXPECT_EQ(mid.script.checkpoints.size(), 1u);
  EXPECT_EQ(mid.script.machine.status(mid.script.now).state, JobState::kPaused);
}

TEST(CheckpointTest, OfAFirstRoundThatIsGivenUpFollowsTheNextOne) {
  MidRound mid(2, 2);
  ASSERT_OK(mid.script.Ask(CheckpointRequested{}));
  mid.script.Break(*mid.a);
  mid.script.Break(*mid.b);
  mid.script.Pass(absl::Seconds(11));  // Both are lost.
  EXPECT_EQ(mid.script.Records<VoidRecord>().size(), 1u);
  mid.script.Join("c");
  mid.script.Join("d");
  mid.script.Run();
  ASSERT_FALSE(mid.script.checkpoints.empty());
  EXPECT_EQ(mid.script.checkpoints[0].step, 4u);
}

TEST(CheckpointTest, BeforeTheFirstRoundThereIsNothingToSave) {
  Script script(SmallJob(2, 2));
  EXPECT_THAT(script.Ask(CheckpointRequested{}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("nothing is trained yet")));
}

}  // namespace
}  // namespace rondo::server
