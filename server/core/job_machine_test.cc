// The machine's undisturbed life, from Hello to Goodbye.
#include "server/core/job_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;

TEST(JobMachineTest, CarriesAJobFromHelloToGoodbye) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  script.Run();

  const auto commits = script.Records<CommitRecord>();
  ASSERT_EQ(commits.size(), 8u);  // 30 steps: 7 rounds of 4 and one of 2.
  EXPECT_EQ(commits.back().first_step, 28u);
  EXPECT_EQ(commits.back().length, 2u);
  EXPECT_EQ(commits[0].rate_first, 0.1);
  EXPECT_EQ(commits[0].mean_loss, 1);
  EXPECT_EQ(commits[0].samples, 40u);
  EXPECT_EQ(commits[0].bytes_sent, 200u);
  EXPECT_THAT(commits[0].contributors, ElementsAre("a", "b"));
  const auto ends = script.Records<EndRecord>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].state, EndState::kDone);
  EXPECT_EQ(ends[0].syncs, 8u);
  EXPECT_EQ(ends[0].samples_unused, 0u);
  ASSERT_TRUE(script.finish);
  EXPECT_EQ(script.finish->exit_code, 0);
  EXPECT_EQ(a.exit_code, 0u);
  EXPECT_EQ(b.exit_code, 0u);
  const auto evaluations = script.Records<EvaluationRecord>();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0].accuracy, 0.6);
  ASSERT_EQ(script.checkpoints.size(), 1u);
  EXPECT_EQ(script.checkpoints[0].step, 30u);
  EXPECT_EQ(script.checkpoints[0].parts.size(), 4u);  // Parameters and buffers once, local twice.
  EXPECT_EQ(script.machine.status(script.now).state, JobState::kDone);
}

}  // namespace
}  // namespace rondo::server
