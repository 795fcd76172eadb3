#include "worker/edge/job_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/runtime/train_spec.h"

namespace rondo::worker {
namespace {

v1::Job SmallestJob() {
  v1::Job job;
  job.set_id("digits-0123456789abcdef");
  job.mutable_model()->mutable_mlp()->add_layers(2);
  job.set_loss(v1::LOSS_MSE);
  job.mutable_data()->set_format(v1::DATA_FORMAT_NPY);
  job.mutable_data()->mutable_train()->set_inputs("x.npy");
  job.mutable_data()->set_divisor(1);
  job.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_state()->set_optimizer(v1::OPTIMIZER_STATE_POLICY_LOCAL);
  return job;
}

TEST(JobCodecTest, ReadsHowSparseReductionsSelect) {
  v1::Job job = SmallestJob();
  job.mutable_collective()->set_kind(v1::COLLECTIVE_KIND_SPARSE);
  job.mutable_collective()->set_select(v1::SELECT_MODE_THRESHOLD);
  ASSERT_OK_AND_ASSIGN(const TrainSpec threshold, DecodeJob(job));
  EXPECT_EQ(threshold.select, SparseSelect::kThreshold);
  job.mutable_collective()->set_select(v1::SELECT_MODE_EXACT);
  ASSERT_OK_AND_ASSIGN(const TrainSpec exact, DecodeJob(job));
  EXPECT_EQ(exact.select, SparseSelect::kExact);
}

TEST(JobCodecTest, ADenseJobNeedNotSayHowToSelect) {
  v1::Job job = SmallestJob();
  job.mutable_collective()->set_kind(v1::COLLECTIVE_KIND_RING);
  EXPECT_OK(DecodeJob(job));
  job.clear_collective();
  EXPECT_OK(DecodeJob(job));
}

TEST(JobCodecTest, RefusesAWayToSelectThatItDoesNotKnow) {
  v1::Job job = SmallestJob();
  job.mutable_collective()->set_select(static_cast<v1::SelectMode>(7));
  EXPECT_THAT(DecodeJob(job), StatusIs(absl::StatusCode::kInvalidArgument,
                                       testing::HasSubstr("collective.select has the value 7")));
}

}  // namespace
}  // namespace rondo::worker
