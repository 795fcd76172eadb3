// The checkpoint that the job is to go back to is damaged, or its folder is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/core/job_machine.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint64_t> TargetsOf(const Script& script) {
  std::vector<uint64_t> targets;
  for (const RewindRecord& rewind : script.Records<RewindRecord>()) {
    targets.push_back(rewind.to_step);
  }
  return targets;
}

int CountNotes(const Script& script, const std::string& kind) {
  const std::vector<NoticeRecord> notices = script.Records<NoticeRecord>();
  return static_cast<int>(std::count_if(notices.begin(), notices.end(),
                                        [&](const NoticeRecord& n) { return n.kind == kind; }));
}

TEST(CheckpointTest, ADamagedOneIsPassedOverAtOnce) {
  Interrupted job(6);
  job.script.damaged = {20};
  job.script.damage_is_hidden = false;
  job.Replace({"a", "b"});
  EXPECT_THAT(TargetsOf(job.script), ElementsAre(12));
  EXPECT_EQ(CountNotes(job.script, "checkpoint_damaged"), 1);
  job.ExpectDone();
}

TEST(CheckpointTest, IfAllAreDamagedTheJobStopsWithNothingUndone) {
  Interrupted job(6);
  job.script.damaged = {12, 20};
  job.script.damage_is_hidden = false;
  job.Replace({"a", "b"});
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 1);
  EXPECT_THAT(job.script.finish->reason, HasSubstr("other bytes"));
  EXPECT_THAT(TargetsOf(job.script), IsEmpty());
}

TEST(CheckpointTest, WhileTheFolderIsAwayTheJobWaitsAndSaysSo) {
  Interrupted job(6);
  job.script.away = "/mnt/x is not mounted";
  job.Replace({"a", "b"});
  job.script.Pass(absl::Seconds(100));
  EXPECT_THAT(TargetsOf(job.script), IsEmpty());
  const std::string reason = job.script.machine.status(job.script.now).reason;
  EXPECT_THAT(reason, HasSubstr("/mnt/x is not mounted"));
  EXPECT_THAT(reason, HasSubstr("limits.save_seconds"));
  EXPECT_EQ(CountNotes(job.script, "checkpoint_away"), 1);
  EXPECT_LE(job.script.looks.size(), 22u);  // Every five seconds.
  job.script.away.reset();
  job.script.Pass(absl::Seconds(6));
  EXPECT_THAT(TargetsOf(job.script), ElementsAre(20));
  EXPECT_TRUE(job.script.Noted("checkpoint_back"));
  job.ExpectDone();
}

TEST(CheckpointTest, AFolderThatStaysAwayEndsTheJobWithNothingUndoneAndItCanGoOnLater) {
  Interrupted job(6);
  job.script.away = "/mnt/x is not mounted";
  job.Replace({"a", "b"});
  job.script.Pass(absl::Seconds(590));
  EXPECT_FALSE(job.script.finish);
  job.script.Pass(absl::Seconds(20));
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 1);
  EXPECT_THAT(job.script.finish->reason, HasSubstr("/mnt/x is not mounted"));
  EXPECT_THAT(TargetsOf(job.script), IsEmpty());
  job.script.workers.clear();
  Script next(job.script, 2);
  for (const char* name : {"a", "b"}) next.Join(name, 20);
  next.Run();
  EXPECT_THAT(TargetsOf(next), ElementsAre(20));
  ASSERT_TRUE(next.finish);
  EXPECT_EQ(next.finish->exit_code, 0) << next.finish->reason;
}

TEST(CheckpointTest, AHolderWhoComesBackMeanwhileMakesTheFolderUnnecessary) {
  Interrupted job(4, SavingJob(3));
  job.BreakAll();
  job.script.Pass(absl::Seconds(15));  // Both are lost.
  for (const char* name : {"c", "d"}) job.script.Join(name);
  job.script.away = "not mounted";
  job.script.Run();
  job.script.Pass(absl::Seconds(320));
  EXPECT_TRUE(job.script.Noted("checkpoint_away"));
  ScriptedWorker& a = *job.script.workers["a"];
  a.last_round = 1'000;
  a.returning = a.Describe();
  job.script.Redial(a);
  job.script.Run();
  EXPECT_THAT(TargetsOf(job.script), IsEmpty());
  ASSERT_GT(job.script.Records<CommitRecord>().size(), 4u);
  EXPECT_EQ(job.script.Records<CommitRecord>()[4].round, RoundId{5});
}

TEST(CheckpointTest, AStopDoesNotWaitForTheFolder) {
  Interrupted job(6);
  job.script.away = "not mounted";
  job.Replace({"a", "b"});
  job.script.Handle(StopRequested{"Ctrl-C"});
  job.script.Pass(absl::Seconds(1));
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 0);
  EXPECT_THAT(TargetsOf(job.script), IsEmpty());
}

// The workers' own mount is away.
TEST(CheckpointTest, OneThatIsWholeIsNotPassedOverThoughNoWorkerCanReadIt) {
  Interrupted job(6);
  job.BreakAll();
  ScriptedWorker& a = job.script.Join("a", 11);
  ScriptedWorker& b = job.script.Join("b", 12);
  a.cannot_read = b.cannot_read = true;
  job.script.Run();
  job.script.Pass(absl::Seconds(60));
  EXPECT_THAT(TargetsOf(job.script), ElementsAre(20));
  EXPECT_THAT(job.script.machine.status(job.script.now).reason, HasSubstr("no worker can read"));
  a.cannot_read = b.cannot_read = false;
  job.script.Pass(absl::Seconds(10));
  EXPECT_THAT(TargetsOf(job.script), ElementsAre(20));
  job.ExpectDone();
}

TEST(CheckpointTest, IfNoWorkerCanEverReadItTheJobStops) {
  Interrupted job(6);
  job.BreakAll();
  job.script.Join("a", 11).cannot_read = true;
  job.script.Join("b", 12).cannot_read = true;
  job.script.Run();
  job.script.Pass(absl::Seconds(620));
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 1);
  EXPECT_THAT(job.script.finish->reason, HasSubstr("no worker can read"));
  EXPECT_THAT(TargetsOf(job.script), ElementsAre(20));
}

}  // namespace
}  // namespace rondo::server
