// What is read from the journal when no coordinator answers.
#include "server/cli/journal_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/status_matchers.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_samples.h"

namespace rondo::cli {
namespace {

class JournalHistoryTest : public server::JournalTest {
 protected:
  // Three terms; rounds 2 and 3 are undone.
  std::unique_ptr<server::JournalReader> Write() {
    using server::Commit;
    using server::kNow;
    const std::vector<server::Record> records = {server::TermRecord{{1}, kNow},
                                                 Commit(1),
                                                 server::TermRecord{{2}, kNow},
                                                 Commit(2),
                                                 Commit(3),
                                                 server::TermRecord{{3}, kNow},
                                                 server::RewindRecord{{1}, 20, {2}, "lost", kNow},
                                                 Commit(4)};
    EXPECT_OK(Make()->Write(records));
    auto reader = server::JournalReader::Open(path_);
    EXPECT_OK(reader);
    return *std::move(reader);
  }
};

TEST_F(JournalHistoryTest, TheStatusKnowsTheLastTermAndCountsNoUndoneRound) {
  const auto reader = Write();
  ASSERT_OK_AND_ASSIGN(const v1::Status status, StatusFromJournal(*reader, /*held=*/false));
  EXPECT_EQ(status.term(), 3u);
  EXPECT_EQ(status.committed_round(), 4u);
  EXPECT_EQ(status.step(), 50u);
  EXPECT_EQ(status.syncs(), 2u);
  EXPECT_EQ(status.step_seconds(), 4);  // They were spent all the same.
}

TEST_F(JournalHistoryTest, TotalsAreOfTheRoundsThatCount) {
  const auto reader = Write();
  ASSERT_OK_AND_ASSIGN(const v1::CommStats stats, CommStatsFromJournal(*reader, 0));
  ASSERT_EQ(stats.collectives_size(), 1);
  EXPECT_EQ(stats.collectives(0).collective(), v1::COLLECTIVE_KIND_TOPK_GATHER);
  EXPECT_EQ(stats.collectives(0).rounds(), 2u);
  EXPECT_EQ(stats.collectives(0).costs_size(), 2);
  // Of the last commit: a third and four.
  EXPECT_EQ(stats.residual_norm_squared(), 1.0 / 3 + 4);
  ASSERT_OK_AND_ASSIGN(const v1::CommStats last, CommStatsFromJournal(*reader, 4));
  EXPECT_EQ(last.collectives(0).rounds(), 1u);
}

TEST_F(JournalHistoryTest, RoundsThatWereUndoneAreListedAndMarked) {
  const auto reader = Write();
  ASSERT_OK_AND_ASSIGN(const std::vector<v1::Round> rounds, RoundsFromJournal(*reader, 0));
  std::vector<bool> undone;
  for (const v1::Round& round : rounds) undone.push_back(round.undone());
  EXPECT_THAT(undone, testing::ElementsAre(false, true, true, false));
}

}  // namespace
}  // namespace rondo::cli
