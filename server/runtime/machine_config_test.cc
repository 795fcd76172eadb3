#include "server/runtime/machine_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Job FrozenJob() {
  v1::Job job;
  job.set_id("digits-1");
  job.mutable_resolved()->set_steps(460);
  job.mutable_schedule()->set_kind(v1::SCHEDULE_KIND_CONSTANT);
  job.mutable_schedule()->set_epochs(20);
  job.mutable_schedule()->set_peak(0.1);
  job.mutable_sync()->set_policy(v1::SYNC_POLICY_CONSTANT);
  job.mutable_sync()->set_base_steps(4);
  job.mutable_sync()->set_round_steps(50);
  job.mutable_collective()->set_kind(v1::COLLECTIVE_KIND_RING);
  job.mutable_batch()->set_global(64);
  job.mutable_data()->set_shuffle(true);
  job.mutable_data()->mutable_test()->set_inputs("t10k");
  job.mutable_workers()->set_min(2);
  job.mutable_workers()->set_max(16);
  job.mutable_workers()->set_wait_seconds(30);
  job.mutable_workers()->set_return_seconds(0.5);
  job.mutable_evaluate()->set_every_epochs(1);
  job.mutable_checkpoint()->set_every_steps(500);
  job.mutable_limits()->set_silent_seconds(7);
  job.mutable_limits()->set_attempts(3);
  job.mutable_limits()->set_evaluate_seconds(77);
  job.mutable_limits()->set_not_finite_rounds(9);
  job.mutable_workers()->set_cool_down_seconds(0);
  job.mutable_workers()->set_losses_free(0);
  return job;
}

TEST(MachineConfigTest, TargetsOfMseAreNoClasses) {
  v1::Job job = FrozenJob();
  EXPECT_TRUE(MachineConfigFromJob(job, {1}, {5, 6})->has_accuracy);
  job.set_loss(v1::LOSS_MSE);
  EXPECT_FALSE(MachineConfigFromJob(job, {1}, {5, 6})->has_accuracy);
}

TEST(MachineConfigTest, CarriesTheJobsValues) {
  ASSERT_OK_AND_ASSIGN(const MachineConfig config, MachineConfigFromJob(FrozenJob(), {1}, {5, 6}));
  EXPECT_EQ(config.job_id, "digits-1");
  EXPECT_EQ(config.term.value, 1u);
  EXPECT_EQ(config.schedule.steps, 460);
  EXPECT_EQ(config.policy.base_steps, 4);
  EXPECT_EQ(config.epochs, 20u);
  EXPECT_EQ(config.batch_global, 64u);
  EXPECT_EQ(config.batch_per_worker, 0u);
  EXPECT_TRUE(config.shuffle);
  EXPECT_TRUE(config.has_test_set);
  EXPECT_EQ(config.workers_min, 2u);
  EXPECT_EQ(config.workers_max, 16u);
  EXPECT_EQ(config.wait, absl::Seconds(30));
  EXPECT_EQ(config.evaluate_every_epochs, 1u);
  EXPECT_EQ(config.checkpoint_every_steps, 500u);
  EXPECT_THAT(config.token_seed, ElementsAre(5u, 6u));
  EXPECT_EQ(config.limits.silent, absl::Seconds(7));
  EXPECT_EQ(config.limits.return_wait, absl::Milliseconds(500));
  EXPECT_EQ(config.limits.attempts_max, 3u);
  EXPECT_EQ(config.limits.evaluate, absl::Seconds(77));
  EXPECT_EQ(config.limits.save, absl::Seconds(600));  // Not given: as ever.
  EXPECT_EQ(config.limits.not_finite_max, 9u);
  EXPECT_EQ(config.limits.discipline.cool_down, absl::ZeroDuration());
  EXPECT_EQ(config.limits.discipline.losses_free, 0u);
  EXPECT_EQ(config.limits.discipline.forgive, absl::Seconds(600));
}

TEST(MachineConfigTest, RefusesAJobThatIsNotFrozen) {
  v1::Job job = FrozenJob();
  job.clear_id();
  EXPECT_THAT(MachineConfigFromJob(job, {1}, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MachineConfigTest, TakesTheCollectiveOver) {
  v1::Job job = FrozenJob();
  job.mutable_collective()->set_kind(v1::COLLECTIVE_KIND_SPARSE);
  job.mutable_collective()->set_density(0.01);
  job.mutable_collective()->set_warmup_steps(90);
  job.mutable_collective()->set_warmup_density(0.25);
  ASSERT_OK_AND_ASSIGN(const MachineConfig sparse, MachineConfigFromJob(job, {1}, {}));
  EXPECT_EQ(sparse.collective.kind, Collective::kSparse);
  EXPECT_EQ(sparse.collective.density, 0.01);
  EXPECT_EQ(sparse.collective.warmup_steps, 90u);
  EXPECT_EQ(sparse.collective.warmup_density, 0.25);
  job.mutable_collective()->set_kind(v1::COLLECTIVE_KIND_AUTO);
  ASSERT_OK_AND_ASSIGN(const MachineConfig chosen, MachineConfigFromJob(job, {1}, {}));
  EXPECT_EQ(chosen.collective.kind, Collective::kAuto);
}

TEST(MachineConfigTest, NamesACollectiveThatItDoesNotKnow) {
  v1::Job job = FrozenJob();
  job.mutable_collective()->set_kind(static_cast<v1::CollectiveKind>(77));
  EXPECT_THAT(MachineConfigFromJob(job, {1}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("collective.kind")));
}

}  // namespace
}  // namespace rondo::server
