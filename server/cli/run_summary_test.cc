#include "server/cli/run_summary.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "server/cli/status_format.h"
#include "server/core/records.h"
#include "server/edge/journal_samples.h"

namespace rondo::cli {
namespace {

constexpr double kUnixDouble = 1e-6;  // What a double keeps of today's Unix seconds.

// Two rounds of 6 s each, one in each of two lives: the first order was 6 s before kNow.
class RunSummaryTest : public server::JournalTest {
 protected:
  RunSummary SummaryOf(const std::optional<LaunchSpan>& launch) {
    using server::kNow;
    server::CommitRecord second = server::Commit(2);
    second.at = kNow + absl::Hours(1);
    const std::vector<server::Record> records = {server::TermRecord{{1}, kNow}, server::Commit(1),
                                                 server::TermRecord{{2}, kNow}, second};
    EXPECT_OK(Make()->Write(records));
    const auto summary = SummarizeRun(dir_, launch);
    EXPECT_OK(summary);
    return *summary;
  }
};

TEST_F(RunSummaryTest, TheSecondsOfARunThatWentOnAreThoseOfAllItsLives) {
  const absl::Time began = server::kNow + absl::Minutes(59);
  const RunSummary summary = SummaryOf(LaunchSpan{began, began + absl::Minutes(2)});
  EXPECT_EQ(summary.rounds, 2u);
  EXPECT_NEAR(summary.seconds, 6 + 61 * 60, kUnixDouble);
  EXPECT_EQ(summary.status.step_seconds(), 2);
  EXPECT_EQ(summary.status.reduce_seconds(), 4);
  EXPECT_EQ(summary.status.control_seconds(), 6);
  EXPECT_GE(summary.seconds, 2 + 4 + 6);
}

TEST_F(RunSummaryTest, TheSecondsOfAFirstLifeBeginWithItsStart) {
  const absl::Time began = server::kNow - absl::Seconds(9);
  const RunSummary summary = SummaryOf(LaunchSpan{began, began + absl::Hours(2)});
  EXPECT_NEAR(summary.seconds, 2 * 3600, kUnixDouble);
}

TEST_F(RunSummaryTest, WithoutALaunchTheSecondsEndWithTheLastCommit) {
  EXPECT_NEAR(SummaryOf(std::nullopt).seconds, 6 + 3600, kUnixDouble);
}

}  // namespace
}  // namespace rondo::cli
