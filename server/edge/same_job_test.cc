#include "server/edge/same_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::Job JobOf(int64_t min, int64_t max) {
  v1::Job job;
  job.set_name("digits");
  job.mutable_workers()->set_min(min);
  job.mutable_workers()->set_max(max);
  return job;
}

// A job file with workers 2 to 16, and --workers.
absl::Status Check(const v1::Job& frozen, uint64_t workers) {
  const auto count = static_cast<int64_t>(workers);
  return CheckSameJob("journal.db", frozen,
                      JobOf(std::min<int64_t>(2, count), std::max<int64_t>(16, count)),
                      {workers, JobOf(2, 16)});
}

TEST(SameJobTest, AnyNumberWithinTheBoundsGoesOn) {
  for (uint64_t workers : {2, 9, 16}) EXPECT_OK(Check(JobOf(2, 16), workers));
}

TEST(SameJobTest, AWrongNumberIsToldByItsFlag) {
  for (uint64_t workers : {1, 17}) {
    EXPECT_THAT(Check(JobOf(2, 16), workers),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--workers"), HasSubstr("from 2 to 16"),
                               Not(HasSubstr("job file")))));
  }
}

TEST(SameJobTest, ARunThatBeganWithAnotherNumberNamesTheOneThatGoesOn) {
  EXPECT_OK(Check(JobOf(2, 20), 20));
  EXPECT_THAT(Check(JobOf(2, 20), 4),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --workers 20")));
  EXPECT_THAT(CheckSameJob("journal.db", JobOf(1, 16), JobOf(2, 16), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("give --workers 1,")));
}

TEST(SameJobTest, AnotherJobFileIsToldByItsKeys) {
  v1::Job job = JobOf(2, 20);
  job.set_seed(7);
  EXPECT_THAT(CheckSameJob("journal.db", JobOf(2, 16), job, {20, job}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seed")));
}

}  // namespace
}  // namespace rondo::server
