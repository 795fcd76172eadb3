// Leaving, stopping, evaluation, checkpoints and the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/time/time.h"
#include "server/core/job_machine.h"
#include "server/core/ledger.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(EvaluationTest, HasNoAccuracyWhereTargetsAreNoClasses) {
  MachineConfig config = SmallJob(1, 1);
  config.has_accuracy = false;
  Script script(config);
  script.Join("a");
  script.Run();
  const auto evaluations = script.Records<EvaluationRecord>();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_FALSE(evaluations[0].accuracy);
}

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

TEST(EndTest, AnEarlierCheckpointThatCannotBeWrittenIsTriedAgainWhenTheNextIsDue) {  // S74
  MachineConfig config = SmallJob(1, 1);
  config.checkpoint_every_steps = 10;
  Script script(config);
  script.failing_checkpoint = 12;
  script.Join("a");
  script.Run();
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
  EXPECT_TRUE(script.Noted("checkpoint_failed"));
  std::vector<uint64_t> saved;
  for (const auto& c : script.Records<CheckpointRecord>()) saved.push_back(c.step);
  EXPECT_THAT(saved, ElementsAre(20, 30));
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

// A second process under the name of a live one asks every second. S12
struct Twin {
  Twin() : mid(1, 2) {
    auto& slot = mid.script.workers["twin"];
    slot = std::make_unique<ScriptedWorker>();
    slot->name = "a";
    slot->incarnation = {99};
    twin = slot.get();
    mid.script.Redial(*twin);
    mid.script.Run();
    twin->connected = false;
  }
  // The job ends, with a in it to its end.
  void Finish() {
    mid.a->mute_ready = false;
    mid.script.Say(*mid.a, mid.ReadyOfA());
    mid.script.Run();
  }
  MidRound mid;
  ScriptedWorker* twin;
};

TEST(EndTest, WhoWasToldToWaitHearsOfTheEndWhenItAsksAgain) {
  Twin twins;
  ASSERT_EQ(twins.twin->Heard<Wait>().size(), 1u);
  twins.Finish();
  EXPECT_EQ(twins.mid.a->exit_code, 0u);
  EXPECT_FALSE(twins.mid.script.finish) << "the other one asks again in a second";
  twins.mid.script.Redial(*twins.twin);
  twins.mid.script.Run();
  ASSERT_EQ(twins.twin->Heard<Goodbye>().size(), 1u);
  EXPECT_EQ(twins.twin->Heard<Goodbye>()[0].reason, GoodbyeReason::kDone);
  EXPECT_EQ(twins.twin->exit_code, 0u);
  EXPECT_TRUE(twins.mid.script.finish);
}

TEST(EndTest, WhoWasToldToWaitAndDoesNotAskAgainDelaysTheEndBySeconds) {
  Twin twins;
  twins.Finish();
  EXPECT_FALSE(twins.mid.script.finish);
  twins.mid.script.Pass(absl::Seconds(7));
  EXPECT_TRUE(twins.mid.script.finish);
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
