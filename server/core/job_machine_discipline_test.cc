// Workers that stand still, are sick, keep dying, or want to leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/job_machine.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

WorkerRow RowOf(const Script& script, const std::string& name) {
  for (const WorkerRow& row : script.machine.workers()) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no worker " << name;
  return {};
}

TEST(StalledTest, AMemberWhoseLoopStandsStillIsDroppedAndToldToExit) {  // S91
  MidRound mid;
  const Progress progress{{1}, 2, 1, 0, 59, Activity::kTraining};
  mid.script.Say(*mid.a, progress);
  mid.script.Run();
  EXPECT_TRUE(mid.script.Records<CommitRecord>().empty());
  Progress stalled = progress;
  stalled.stalled_seconds = 61;
  mid.script.Say(*mid.a, stalled);
  mid.script.Run();
  EXPECT_TRUE(mid.script.Noted("worker_stalled"));
  EXPECT_EQ(mid.a->exit_code, 70u);
  const auto commits = mid.script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_THAT(commits[0].contributors, ElementsAre("b"));
}

TEST(StalledTest, OneThatMissedItIsToldWhenItComesBack) {  // S91
  MidRound mid;
  mid.script.SayAs(
      mid.a->stream,
      {mid.script.config.job_id, {1}, Progress{{1}, 2, 1, 0, 61, Activity::kTraining}});
  mid.script.Redial(*mid.a);  // The Goodbye was lost with its stream.
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 70u);
}

TEST(StalledTest, WhoWaitsForAPeerInACollectiveDoesNotStandStill) {
  MidRound mid;
  mid.script.Say(*mid.a, Progress{{1}, 2, 1, 0, 1'000, Activity::kReducing});
  mid.script.Run();
  EXPECT_FALSE(mid.script.Noted("worker_stalled"));
}

TEST(StalledTest, AParallelRoundGoesOnWithoutTheOneThatStandsStill) {  // S91
  Script script(MidRound::Job(1, 3, true));
  std::vector<ScriptedWorker*> all;
  for (const char* name : {"a", "b", "c"}) all.push_back(&script.Join(name));
  for (ScriptedWorker* worker : all) worker->mute_ready = true;
  script.Run();
  script.Say(*all[1], Progress{{1}, 2, 1, 0, 61, Activity::kTraining});
  script.Run();
  EXPECT_EQ(all[1]->exit_code, 70u);
  ASSERT_EQ(script.Records<OrderRecord>().size(), 2u);
  EXPECT_EQ(script.Records<OrderRecord>()[1].runs.size(), 2u);
}

TEST(SickTest, OneThatIsNotFiniteThreeTimesInARowIsToldToLeave) {  // Rule 15.
  Script script(SmallJob(1, 2));
  script.Join("a");
  ScriptedWorker& b = script.Join("b");
  b.finite = false;
  script.Run();
  EXPECT_EQ(b.exit_code, 1u);
  EXPECT_EQ(b.Heard<Goodbye>()[0].reason, GoodbyeReason::kExcluded);
  EXPECT_TRUE(script.Noted("worker_excluded"));
  const auto commits = script.Records<CommitRecord>();
  ASSERT_GE(commits.size(), 4u);
  EXPECT_THAT(commits[2].members, ElementsAre("a", "b"));
  EXPECT_THAT(commits[3].members, ElementsAre("a"));
}

TEST(SickTest, AFiniteRoundInBetweenBeginsTheCountAnew) {
  Script script(SmallJob(2, 2));
  script.Join("a");
  ScriptedWorker& b = script.Join("b");
  b.finite = false;
  b.finite_every = 3;
  script.Run();
  EXPECT_FALSE(script.Noted("worker_excluded"));
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
}

TEST(SickTest, ANewProcessOfAnExcludedNameHasToWait) {
  MachineConfig config = SmallJob(1, 2);
  config.evaluate_every_steps = 12;  // There the job stands until a says the result.
  config.epochs = 0;
  config.schedule.steps = 40;
  Script script(config);
  script.Join("a").mute_evaluated = true;
  script.Join("b").finite = false;
  script.Run();
  ASSERT_TRUE(script.Noted("worker_excluded"));
  ScriptedWorker& again = script.Join("b", 2);
  script.Run();
  ASSERT_EQ(again.Heard<Wait>().size(), 1u);
  EXPECT_EQ(again.Heard<Wait>()[0].reason, WaitReason::kCoolDown);
  EXPECT_EQ(again.Heard<Wait>()[0].retry_seconds, 300);
  EXPECT_THAT(again.Heard<Wait>()[0].text, HasSubstr("told to leave"));
}

// A job whose only other worker trains on and on.
struct Flapping {
  Flapping() : script(SmallJob(1, 2)) {
    a = &script.Join("a");
    a->mute_ready = true;
    script.Pass(absl::Seconds(31));
  }
  // A process of that name comes and dies. The Wait that it was told, if it was.
  std::optional<Wait> ComesAndDies(const std::string& name) {
    ScriptedWorker& worker = script.Join(name, ++incarnation);
    script.Run();
    const auto waits = worker.Heard<Wait>();
    if (!waits.empty()) return waits[0];
    script.Break(worker);
    script.Pass(absl::Seconds(11));
    return std::nullopt;
  }
  Script script;
  ScriptedWorker* a = nullptr;
  uint64_t incarnation = 100;
};

TEST(CoolDownTest, ANameThatComesAndDiesWaitsLongerEachTime) {  // S18
  Flapping job;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(job.ComesAndDies("b")) << i;
  const std::optional<Wait> wait = job.ComesAndDies("b");
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->reason, WaitReason::kCoolDown);
  EXPECT_GT(wait->retry_seconds, 8);
  EXPECT_LE(wait->retry_seconds, 10);
  EXPECT_THAT(wait->text, HasSubstr("3 processes of its name were lost"));
  EXPECT_TRUE(job.script.Noted("worker_cools_down"));
  EXPECT_THAT(RowOf(job.script, "b").text, HasSubstr("losses under this name: 3"));
  EXPECT_THAT(RowOf(job.script, "b").text, HasSubstr("a new process waits"));
  job.script.Pass(absl::Seconds(10));
  EXPECT_FALSE(job.ComesAndDies("b"));
  const std::optional<Wait> longer = job.ComesAndDies("b");
  ASSERT_TRUE(longer);
  EXPECT_GT(longer->retry_seconds, 10);
}

TEST(CoolDownTest, AnotherNameComesInAtOnce) {
  Flapping job;
  for (int i = 0; i < 3; ++i) job.ComesAndDies("b");
  EXPECT_FALSE(job.ComesAndDies("c"));
}

TEST(CoolDownTest, AnOrderlyLeaveIsNoLoss) {
  Flapping job;
  for (int i = 0; i < 6; ++i) {
    ScriptedWorker& worker = job.script.Join("b", ++job.incarnation);
    job.script.Run();
    EXPECT_TRUE(worker.Heard<Wait>().empty());
    job.script.Say(worker, Leave{{}, 0, 30, "SIGTERM"});
    job.script.Run();
    EXPECT_EQ(worker.exit_code, 5u);
  }
}

TEST(LeaveTest, ALeaverGoesBeforeItsGraceIsOverWhateverItWaitsFor) {  // S75
  MidRound mid;
  mid.script.Say(*mid.a, Leave{{1}, 3, 30, "SIGTERM"});
  mid.script.Run();
  EXPECT_FALSE(mid.a->exit_code);  // The rest fits.
  mid.script.Pass(absl::Seconds(27));
  EXPECT_FALSE(mid.a->exit_code);
  mid.script.Pass(absl::Seconds(2));  // But it did not come.
  EXPECT_EQ(mid.a->exit_code, 5u);
  ASSERT_GE(mid.script.Records<CommitRecord>().size(), 1u);
  EXPECT_THAT(mid.script.Records<CommitRecord>()[0].contributors, ElementsAre("b"));
}

TEST(LeaveTest, ALeaverDoesNotWaitForAReduceThatHangs) {  // S75
  MidRound mid;
  mid.a->mute_reduced = mid.b->mute_reduced = true;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_EQ(mid.a->Heard<Reduce>().size(), 1u);
  mid.script.Say(*mid.a, Leave{{1}, 4, 8, "SIGTERM"});
  mid.script.Pass(absl::Seconds(7));
  EXPECT_EQ(mid.a->exit_code, 5u);
}

// a and b save after their first round; a takes its time and wants to leave.
struct MidSave {
  explicit MidSave(double grace_seconds) : script(Config()) {
    a = &script.Join("a");
    a->mute_saved = true;
    script.Join("b");
    script.Run();
    script.Say(*a, Leave{{}, 4, grace_seconds, "SIGTERM"});
    script.Run();
  }
  static MachineConfig Config() {
    MachineConfig config = SmallJob(1, 2);
    config.checkpoint_every_steps = 4;
    return config;
  }
  std::vector<std::string> FilesOfFirstCheckpoint() const {
    return script.Records<CheckpointRecord>().at(0).local_files;
  }
  Script script;
  ScriptedWorker* a = nullptr;
};

TEST(LeaveTest, ALeaverFinishesTheCheckpointThatIsBeingMade) {  // S75
  MidSave mid(30);
  ASSERT_EQ(mid.a->Heard<SaveNow>().size(), 1u);
  EXPECT_FALSE(mid.a->exit_code);
  const SaveNow save = mid.a->Heard<SaveNow>()[0];
  Saved saved{save.group, save.round, save.step, {}};
  for (const StateFile file : save.files) saved.files.push_back({file, 10, "hash"});
  mid.script.Say(*mid.a, saved);
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 5u);
  EXPECT_THAT(mid.FilesOfFirstCheckpoint(), ElementsAre("a", "b"));
  EXPECT_FALSE(mid.script.Noted("save_repeated"));
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
}

TEST(LeaveTest, ACheckpointThatOutlastsTheGraceIsMadeByTheOthers) {  // S75
  MidSave mid(8);
  mid.script.Pass(absl::Seconds(5));
  EXPECT_FALSE(mid.a->exit_code);
  mid.script.Pass(absl::Seconds(2));
  EXPECT_EQ(mid.a->exit_code, 5u);
  EXPECT_TRUE(mid.script.Noted("save_repeated"));
  EXPECT_THAT(mid.FilesOfFirstCheckpoint(), ElementsAre("b"));
}

TEST(LeaveTest, AGroupThatIsBeingFormedIsLeftAtOnce) {  // S75
  Script script(SmallJob(1, 2));
  script.Join("a").mute_formed = true;
  ScriptedWorker& b = script.Join("b");
  script.Run();
  ASSERT_EQ(b.Heard<Mesh>().size(), 1u);
  script.Say(b, Leave{{}, 0, 30, "SIGTERM"});
  script.Run();
  EXPECT_EQ(b.exit_code, 5u);
}

}  // namespace
}  // namespace rondo::server
