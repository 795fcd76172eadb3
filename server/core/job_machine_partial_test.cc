// A long round whose members all died goes on from their partials.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/job_machine.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Rounds of 4 steps, partials every 3.
MachineConfig LongRounds() {
  MachineConfig config = SavingJob();
  config.checkpoint_every_steps = 3;
  config.partials = true;
  return config;
}

TEST(PartialsTest, ARoundGoesOnWhereAllOfItsMembersHaveAPartial) {  // S47
  Interrupted job(4, LongRounds());
  job.script.partial_step = 18;
  job.Replace({"a", "b"});
  EXPECT_TRUE(job.script.Records<RewindRecord>().empty());
  EXPECT_TRUE(job.script.Records<VoidRecord>().empty());
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("a", StateNeed::kPartial), Pair("b", StateNeed::kPartial)));
  EXPECT_EQ(job.script.workers["a"]->Heard<Assemble>()[0].step, 18u);
  const std::vector<OrderRecord> orders = job.script.Records<OrderRecord>();
  EXPECT_EQ(orders[4].round, RoundId{5});
  EXPECT_EQ(orders[5].round, RoundId{5});
  EXPECT_EQ(orders[5].first_step, orders[4].first_step);
  EXPECT_EQ(orders[5].group, GroupId{2});
  EXPECT_EQ(job.script.Records<CommitRecord>()[4].round, RoundId{5});
  job.ExpectDone();
}

TEST(PartialsTest, TheFirstRoundHasThemToo) {
  Interrupted job(0, LongRounds());
  job.script.partial_step = 3;
  job.Replace({"a", "b"});
  EXPECT_TRUE(job.script.Records<VoidRecord>().empty());
  EXPECT_EQ(job.script.Records<CommitRecord>()[0].round, RoundId{1});
  job.ExpectDone();
}

TEST(PartialsTest, WithoutACompleteStepTheJobGoesBackToTheCheckpoint) {
  Interrupted job(4, LongRounds());
  job.Replace({"a", "b"});
  ASSERT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  EXPECT_EQ(job.script.Records<RewindRecord>()[0].to_step, 16u);
  job.ExpectDone();
}

TEST(PartialsTest, OneThatCannotBeReadIsGivenUp) {
  Interrupted job(4, LongRounds());
  job.script.partial_step = 18;
  job.BreakAll();
  job.script.Join("a", 11).cannot_read_partial = true;
  job.script.Join("b", 12);
  job.script.Run();
  EXPECT_TRUE(job.script.Noted("partial_unreadable"));
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  job.ExpectDone();
}

TEST(PartialsTest, AMemberThatDoesNotComeIsNotWaitedForForEver) {
  MachineConfig config = LongRounds();
  config.workers_max = 3;
  Interrupted job(4, config);
  job.script.partial_step = 18;
  job.Replace({"a", "c"});
  job.script.Pass(absl::Seconds(100));
  EXPECT_TRUE(job.script.Records<RewindRecord>().empty());
  job.script.Pass(absl::Seconds(250));
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  job.ExpectDone();
}

TEST(PartialsTest, NamesThatAreKnownNotToComeAreNotWaitedFor) {
  MachineConfig config = LongRounds();
  config.workers_min = 1;
  Interrupted job(4, config);
  job.script.crashed = true;
  job.script.workers.clear();
  job.script.config.fresh_workers = true;
  job.script.config.workers_at_start = 1;
  Script next(job.script, 2);
  next.partial_step = 18;
  next.Join("a", 30);
  next.Run();
  EXPECT_EQ(next.Records<RewindRecord>().size(), 1u);
  ASSERT_TRUE(next.finish);
  EXPECT_EQ(next.finish->exit_code, 0);
}

TEST(PartialsTest, ALongRoundBeginsWithACheckpoint) {
  MachineConfig config = LongRounds();
  config.policy.policy = SyncPolicy::kTable;
  config.policy.table = {{0, 1}, {2, 4}};  // Borders at 1, 2, 6: no checkpoint is due at 1 and 2.
  Interrupted job(3, config);
  std::vector<uint64_t> saved;
  for (const CheckpointRecord& record : job.script.Records<CheckpointRecord>()) {
    saved.push_back(record.step);
  }
  EXPECT_THAT(saved, ElementsAre(2, 6));
}

}  // namespace
}  // namespace rondo::server
