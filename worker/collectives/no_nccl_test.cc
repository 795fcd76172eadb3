#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "worker/collectives/nccl.h"

namespace rondo {
namespace {

TEST(NoNcclTest, SaysThatTheBuildHasNoNccl) {
  EXPECT_THAT(NewNcclUniqueId(),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("without NCCL")));
  EXPECT_THAT(ConnectNccl({}, absl::Seconds(1)), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
