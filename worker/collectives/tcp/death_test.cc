// Ranks as processes: one is killed or frozen in the middle of an all-reduce.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/forked_ranks.h"

namespace rondo {
namespace {

// Sums again and again.
RankWork Sums(absl::Duration limit) {
  return [limit](Communicator& group) -> RankCall {
    auto data = std::make_shared<std::vector<float>>(2'000'000);
    return [limit, data, &group] {
      const DeviceSpan<float> span(data->data(), static_cast<int64_t>(data->size()));
      const CallId call = {.round = 1, .attempt_or_step = 1, .phase = Phase::kParameters};
      return static_cast<int>(group.AllReduceSum(call, span, limit).code());
    };
  };
}

// S01, S08 (no rank is special). The time limit is out of the test's own: only the death can end
// the calls.
TEST(DeathTest, OfOneRankEndsTheCallOnAllOthers) {
  for (const int code : StrikeForkedRank(SIGKILL, Sums(absl::Hours(1)))) {
    EXPECT_EQ(code, static_cast<int>(absl::StatusCode::kUnavailable));
  }
}

TEST(DeathTest, AFrozenRankEndsTheCallOnAllOthersByTheTimeLimit) {
  for (const int code : StrikeForkedRank(SIGSTOP, Sums(absl::Seconds(5)))) {
    // The first whose limit passes takes its connections down; the rest see that or their own
    // limit.
    EXPECT_TRUE(code == static_cast<int>(absl::StatusCode::kDeadlineExceeded) ||
                code == static_cast<int>(absl::StatusCode::kUnavailable))
        << code;
  }
}

}  // namespace
}  // namespace rondo
