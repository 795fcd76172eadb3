#include "server/runtime/job_config.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace rondo {
namespace {

v1::Job QsrJob() {
  v1::Job job;
  job.mutable_schedule()->set_kind(v1::SCHEDULE_KIND_STEP);
  job.mutable_schedule()->set_peak(0.5);
  job.mutable_schedule()->set_final(0.25);
  job.mutable_schedule()->set_warmup_steps(7);
  job.mutable_schedule()->set_gamma(0.1);
  job.mutable_sync()->set_policy(v1::SYNC_POLICY_QSR);
  job.mutable_sync()->set_alpha(0.02);
  job.mutable_sync()->set_base_steps(4);
  job.mutable_resolved()->set_steps(100);
  job.mutable_resolved()->add_drop_steps(30);
  return job;
}

TEST(JobConfigTest, TakesTheScheduleAndTheResolvedSteps) {
  ASSERT_OK_AND_ASSIGN(const ScheduleConfig schedule, ScheduleFromJob(QsrJob()));
  EXPECT_EQ(schedule.kind, ScheduleKind::kStep);
  EXPECT_EQ(schedule.steps, 100);
  EXPECT_EQ(schedule.peak, 0.5);
  EXPECT_EQ(schedule.final, 0.25);
  EXPECT_EQ(schedule.warmup_steps, 7);
  EXPECT_EQ(schedule.gamma, 0.1);
  EXPECT_EQ(schedule.drop_steps, std::vector<int64_t>{30});
}

TEST(JobConfigTest, QsrIsThePowerRuleOfTwo) {
  ASSERT_OK_AND_ASSIGN(const PolicyConfig policy, PolicyFromJob(QsrJob()));
  EXPECT_EQ(policy.policy, SyncPolicy::kPower);
  EXPECT_EQ(policy.power, 2);
  EXPECT_EQ(policy.alpha, 0.02);
  EXPECT_EQ(policy.base_steps, 4);
}

TEST(JobConfigTest, RefusesWhatItDoesNotKnow) {
  v1::Job job = QsrJob();
  job.mutable_schedule()->set_kind(static_cast<v1::ScheduleKind>(99));
  EXPECT_THAT(ScheduleFromJob(job), StatusIs(absl::StatusCode::kInvalidArgument));
  job.mutable_sync()->set_policy(v1::SYNC_POLICY_UNSPECIFIED);
  EXPECT_THAT(PolicyFromJob(job), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(JobConfigTest, RefusesAJobThatIsNotResolved) {
  v1::Job job = QsrJob();
  job.clear_resolved();
  EXPECT_THAT(ScheduleFromJob(job), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(JobConfigTest, RefusesATableWithoutAStart) {
  v1::Job job = QsrJob();
  job.mutable_sync()->set_policy(v1::SYNC_POLICY_TABLE);
  EXPECT_THAT(PolicyFromJob(job), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace rondo
