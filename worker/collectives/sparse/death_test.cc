// Ranks as processes: one is killed or frozen somewhere in a run of sparse reductions. The others
// fail, with the residuals that they had committed.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/sparse_oracle.h"
#include "kernels/state_hash.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/tcp/forked_ranks.h"

namespace rondo {
namespace {

constexpr int64_t kSize = 300'000;

// One rank's run: a step, and its commit if it succeeds.
class SparseRun {
 public:
  SparseRun(Communicator& group, absl::Duration limit)
      : group_(group),
        limit_(limit),
        reduction_(
            SparseAllReduce::Make({.size = kSize, .k = kSize / 10}, /*clock=*/nullptr).value()),
        values_(FloatsOf(Shape::kNormal, kSize, static_cast<uint32_t>(group.rank()) + 1)),
        mean_(kSize) {}

  int Step() {
    const uint64_t before = ResidualHash();
    const CallId call = {.round = 1, .attempt_or_step = ++step_, .phase = Phase::kGradients};
    const absl::Status status = reduction_->Reduce(call, {.values = {values_.data(), kSize}},
                                                   {mean_.data(), kSize}, limit_, &group_);
    if (ResidualHash() != before) return kCaseFailed;
    if (status.ok()) reduction_->Commit();
    return static_cast<int>(status.code());
  }

 private:
  uint64_t ResidualHash() { return StateHash(reduction_->residual(), 0).value(); }

  Communicator& group_;
  const absl::Duration limit_;
  const std::unique_ptr<SparseAllReduce> reduction_;
  const std::vector<float> values_;
  std::vector<float> mean_;
  int64_t step_ = 0;
};

RankWork Reductions(absl::Duration limit) {
  return [limit](Communicator& group) -> RankCall {
    auto run = std::make_shared<SparseRun>(group, limit);
    return [run] { return run->Step(); };
  };
}

// The time limit is out of the test's own: only the death can end the calls.
TEST(SparseDeathTest, OfOneRankEndsTheStepOnAllOthersWithTheirResidualsUntouched) {
  for (const int code : StrikeForkedRank(SIGKILL, Reductions(absl::Hours(1)))) {
    EXPECT_EQ(code, static_cast<int>(absl::StatusCode::kUnavailable));
  }
}

TEST(SparseDeathTest, AFrozenRankEndsTheStepOnAllOthersByTheTimeLimit) {
  for (const int code : StrikeForkedRank(SIGSTOP, Reductions(absl::Seconds(5)))) {
    EXPECT_TRUE(code == static_cast<int>(absl::StatusCode::kDeadlineExceeded) ||
                code == static_cast<int>(absl::StatusCode::kUnavailable))
        << code;
  }
}

}  // namespace
}  // namespace rondo
