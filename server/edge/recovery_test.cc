// Journals as crashes and bad disks leave them (S73): what was half written is dropped, whole
// transactions stay, and what is damaged is refused with a way out.
#include "server/edge/recovery.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/mix64.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/history.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr uint64_t kRounds = 6;

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

// One transaction a round, and one before them.
std::vector<std::vector<Record>> Transactions() {
  std::vector<std::vector<Record>> all = {{TermRecord{{1}, kNow}, ReferenceRecord{},
                                           GroupRecord{{1}, Purpose::kStart, {{"a", {7}}}, kNow},
                                           NoticeRecord{kNow, "began", "now"}}};
  for (uint64_t round = 1; round <= kRounds; ++round) {
    OrderRecord order;
    order.round = {round};
    order.group = {1};
    order.first_step = 4 * (round - 1);
    order.length = 4;
    order.runs.resize(1);
    order.batches = {8};
    order.at = kNow;
    CommitRecord commit;
    commit.round = {round};
    commit.group = {1};
    commit.first_step = order.first_step;
    commit.length = 4;
    commit.state_hash = Mix64(round);
    commit.ledger.samples_used = 32 * round;
    commit.at = kNow;
    all.push_back({order, commit, NoticeRecord{kNow, "committed", std::string(200, 'x')}});
  }
  return all;
}

// What of a history a test compares.
std::string Essence(const Recovered& recovered) {
  const History& history = recovered.history;
  std::string text = fmt::format(
      "{} term {} group {} round {} step {} hash {:x} used {} events {}", recovered.job.id(),
      history.term, history.last_group, history.last_round, history.committed.step,
      history.committed.state_hash, history.committed.ledger.samples_used,
      recovered.notices.empty() ? 0 : recovered.notices.back().number);
  for (const auto& [round, key] : history.commits) text += fmt::format(" {:x}", key.state_hash);
  return text;
}

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() {
    dir_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    path_ = dir_ + "/journal.db";
    v1::Job job;
    job.set_name("digits");
    job.set_id("digits-0123456789abcdef");
    EXPECT_OK(SqliteJournal::Create(path_, job, kNow));
    auto journal = SqliteJournal::Open(path_);
    EXPECT_OK(journal);
    journal_ = *std::move(journal);
    essences_.push_back(RecoveredEssence());
    for (const std::vector<Record>& records : Transactions()) {
      EXPECT_OK(journal_->Write(records));
      essences_.push_back(RecoveredEssence());
    }
  }

  std::string RecoveredEssence() {
    const absl::StatusOr<Recovered> recovered = RecoverJournal(dir_);
    EXPECT_OK(recovered);
    return recovered.ok() ? Essence(*recovered) : "";
  }
  // How many transactions there are, if the journal is what it was after so many.
  int TransactionsOf(const Recovered& recovered) {
    const auto it = std::find(essences_.begin(), essences_.end(), Essence(recovered));
    return it == essences_.end() ? -1 : static_cast<int>(it - essences_.begin());
  }
  // A folder with these two files in it, as after a crash.
  std::string Lay(const std::string& db, const std::string& wal) {
    const std::string folder = dir_ + "/crashed";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    WriteBytes(folder + "/journal.db", db);
    WriteBytes(folder + "/journal.db-wal", wal);
    return folder;
  }

  std::string dir_;
  std::string path_;
  std::unique_ptr<SqliteJournal> journal_;
  std::vector<std::string> essences_;  // After so many transactions.
};

// Near the borders of the log's frames each byte, elsewhere every 211th.
std::vector<size_t> Cuts(size_t size) {
  constexpr size_t kHeader = 32;
  constexpr size_t kFrame = 4096 + 24;
  std::vector<size_t> cuts;
  for (size_t at = 0; at < size; ++at) {
    const size_t in_frame = at < kHeader ? 0 : (at - kHeader) % kFrame;
    if (in_frame < 30 || in_frame > kFrame - 6 || at % 211 == 0) cuts.push_back(at);
  }
  return cuts;
}

TEST_F(RecoveryTest, ALogCutOffAtAnyByteLeavesWholeTransactions) {
  const std::string db = ReadBytes(path_);
  const std::string wal = ReadBytes(path_ + "-wal");
  ASSERT_GT(wal.size(), 10'000u);
  int last = 0;
  for (const size_t size : Cuts(wal.size())) {
    const absl::StatusOr<Recovered> recovered = RecoverJournal(Lay(db, wal.substr(0, size)));
    ASSERT_OK(recovered) << "at byte " << size;
    const int transactions = TransactionsOf(*recovered);
    ASSERT_GE(transactions, last) << "at byte " << size;
    last = transactions;
  }
  EXPECT_EQ(last, static_cast<int>(essences_.size()) - 2);  // The last one lacks its last byte.
  ASSERT_OK_AND_ASSIGN(const Recovered whole, RecoverJournal(Lay(db, wal)));
  EXPECT_EQ(TransactionsOf(whole), static_cast<int>(essences_.size()) - 1);
}

TEST_F(RecoveryTest, WhatFollowsACutOffLogIsWrittenAndReadBack) {
  const std::string db = ReadBytes(path_);
  const std::string wal = ReadBytes(path_ + "-wal");
  for (size_t size = 0; size < wal.size(); size += 997) {
    const std::string folder = Lay(db, wal.substr(0, size));
    ASSERT_OK_AND_ASSIGN(const Recovered before, RecoverJournal(folder));
    {
      ASSERT_OK_AND_ASSIGN(const auto journal, SqliteJournal::Open(folder + "/journal.db"));
      ASSERT_OK(journal->Write({TermRecord{before.history.term.Next(), kNow}}));
    }
    ASSERT_OK_AND_ASSIGN(const Recovered after, RecoverJournal(folder));
    EXPECT_EQ(after.history.term, before.history.term.Next());
    EXPECT_EQ(after.history.last_round, before.history.last_round);
  }
}

TEST_F(RecoveryTest, AChangedByteInTheLogEndsItBeforeItsTransaction) {
  const std::string db = ReadBytes(path_);
  const std::string wal = ReadBytes(path_ + "-wal");
  for (const size_t at : Cuts(wal.size())) {
    std::string bad = wal;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    const absl::StatusOr<Recovered> recovered = RecoverJournal(Lay(db, bad));
    if (!recovered.ok()) continue;
    ASSERT_GE(TransactionsOf(*recovered), 0) << "at byte " << at;
  }
}

TEST_F(RecoveryTest, ADamagedFileIsRefusedOrSaysWhatItSaidBefore) {
  journal_.reset();  // All is in the one file.
  const std::string good = ReadBytes(path_);
  size_t refused = 0;
  for (size_t at = 0; at < good.size(); at += 127) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    const absl::StatusOr<Recovered> recovered = RecoverJournal(Lay(bad, ""));
    if (recovered.ok()) {
      EXPECT_EQ(Essence(*recovered), essences_.back()) << "at byte " << at;
      continue;
    }
    ++refused;
    EXPECT_THAT(recovered.status().code(),
                AnyOf(absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition))
        << "at byte " << at << ": " << recovered.status();
  }
  EXPECT_GT(refused, 20u);
}

TEST_F(RecoveryTest, AFileCutOffAnywhereIsRefusedUnlessOnlyUnusedBytesAreGone) {
  journal_.reset();
  const std::string good = ReadBytes(path_);
  size_t refused = 0;
  for (size_t size = 0; size < good.size(); size += 509) {
    const absl::StatusOr<Recovered> recovered = RecoverJournal(Lay(good.substr(0, size), ""));
    if (recovered.ok()) {
      EXPECT_EQ(Essence(*recovered), essences_.back()) << "at byte " << size;
      continue;
    }
    ++refused;
    EXPECT_EQ(recovered.status().code(), absl::StatusCode::kDataLoss) << "at byte " << size;
    EXPECT_THAT(std::string(recovered.status().message()),
                AllOf(HasSubstr("journal.db"), HasSubstr("Ways out"), HasSubstr("rondo export")));
  }
  EXPECT_GT(refused, good.size() / 509 / 2);
}

TEST_F(RecoveryTest, ARecordThatWasDeletedIsMissed) {
  journal_.reset();
  ASSERT_OK_AND_ASSIGN(SqliteDatabase db, SqliteDatabase::Open(path_, SqliteMode::kReadWrite));
  ASSERT_OK(db.Run("DELETE FROM commits WHERE round = 3"));
  EXPECT_THAT(RecoverJournal(dir_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("missing")));
}

TEST_F(RecoveryTest, ARecordThatWasChangedIsNotBelieved) {
  journal_.reset();
  ASSERT_OK_AND_ASSIGN(SqliteDatabase db, SqliteDatabase::Open(path_, SqliteMode::kReadWrite));
  ASSERT_OK(db.Run("UPDATE orders SET record = CAST(x'0801' || record AS BLOB) WHERE round = 2"));
  EXPECT_THAT(RecoverJournal(dir_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
}

TEST_F(RecoveryTest, ARecordThatCannotFollowIsRefused) {
  ASSERT_OK(journal_->Write({TermRecord{{1}, kNow}}));
  EXPECT_THAT(RecoverJournal(dir_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("term 1 after term 1")));
}

TEST_F(RecoveryTest, AFolderWithoutAJournalIsNoDamage) {
  EXPECT_THAT(RecoverJournal(dir_ + "/nothing"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace rondo::server
