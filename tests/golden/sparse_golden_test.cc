// The sparse golden trajectories with all members in one process. And the control: without error
// feedback training falls behind.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/norm.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/golden_digits.h"
#include "tests/golden/thread_group.h"

namespace rondo {
namespace {

constexpr char kCases[] = "tests/golden/public";

void ExpectGoldenRounds(const GoldenCase& golden, ThreadGroup* group) {
  for (size_t round = 0; round < golden.starts.size(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const double loss = group->RunRound(golden.starts[round], golden.lengths[round]);
    EXPECT_LE(RelativeDifference(loss, golden.train_losses[round]), golden.tolerance.train_loss);
    ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(group->member(0).engine().parameters()));
    EXPECT_LE(RelativeDifference(norm.squared, golden.param_sqnorms[round]),
              golden.tolerance.param_sqnorm);
    EXPECT_LE(RelativeDifference(group->ResidualNorm(), golden.residual_sqnorms[round]),
              golden.tolerance.residual_sqnorm);
  }
}

class SparseGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(SparseGoldenTest, FollowsPyTorchsTrajectoryWithTheSameBitsOnEveryMember) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  ThreadGroup group(golden);
  ExpectGoldenRounds(golden, &group);
  ExpectGoldenEnd(golden, &group.member(0).engine());
  for (int64_t rank = 1; rank < golden.workers; ++rank) {
    EXPECT_EQ(group.Parameters(rank), group.Parameters(0));
  }
}

// The control: what is not selected is lost, and the loss shows it.
TEST_P(SparseGoldenTest, WithoutErrorFeedbackTrainingFallsBehind) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  ThreadGroup group(golden);
  double loss = 0;
  for (size_t round = 0; round < golden.starts.size(); ++round) {
    loss = group.RunRound(golden.starts[round], golden.lengths[round], /*feedback=*/false);
  }
  EXPECT_GT(loss, 1.5 * golden.train_losses.back());
}

INSTANTIATE_TEST_SUITE_P(Case, SparseGoldenTest, testing::Values("s1", "s2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rondo
