#include "server/edge/journal_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/journal.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/record_seal.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class JournalAuditTest : public testing::Test {
 protected:
  JournalAuditTest()
      : dir_(testing::TempDir() + "/it's " +
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    v1::Job job;
    job.set_id("digits-1");
    EXPECT_OK(SqliteJournal::Create(path(), job, absl::UnixEpoch()));
    const auto journal = SqliteJournal::Open(path());
    CommitRecord commit;
    commit.round = {1};
    commit.length = 4;
    commit.mean_loss = std::numeric_limits<double>::quiet_NaN();
    // Finer than what a record keeps.
    const absl::Time at = absl::FromUnixNanos(1'700'000'000'123'456'789);
    EXPECT_OK((*journal)->Write({TermRecord{{1}, at}, commit}));
    EXPECT_OK((*journal)->Write({NoticeRecord{at, "ended", "done"}}));
  }
  std::string path() const { return dir_ + "/journal.db"; }
  // "table seq" of what is odd.
  std::vector<std::string> Audit() {
    std::filesystem::create_directories(dir_ + "/scratch");
    const auto odd = AuditJournal(path(), dir_ + "/scratch", 10);
    EXPECT_OK(odd);
    std::vector<std::string> rows;
    for (const OddRow& row : *odd) rows.push_back(row.table + " " + std::to_string(row.seq));
    return rows;
  }
  void Run(const char* sql) {
    auto db = SqliteDatabase::Open(path(), SqliteMode::kReadWrite);
    ASSERT_OK(db);
    ASSERT_OK(db->Run(sql));
  }

  std::string dir_;
};

TEST_F(JournalAuditTest, AJournalAsItWasWrittenIsNotOdd) { EXPECT_THAT(Audit(), IsEmpty()); }

TEST_F(JournalAuditTest, AChangedColumnIsFound) {
  Run("UPDATE commits SET length = 5");
  EXPECT_EQ(Audit(), std::vector<std::string>{"commits 2"});
}

TEST_F(JournalAuditTest, AChangedColumnOfTheLedgerIsFound) {
  Run("UPDATE ledger SET samples_used = 5");
  EXPECT_EQ(Audit(), std::vector<std::string>{"ledger 2"});
}

// One that knew nothing of collectives and reductions.
TEST_F(JournalAuditTest, ARecordThatAnEarlierVersionWroteIsNotOdd) {
  v1::CommitRecord earlier;
  {
    ASSERT_OK_AND_ASSIGN(SqliteDatabase db, SqliteDatabase::Open(path(), SqliteMode::kReadWrite));
    ASSERT_OK_AND_ASSIGN(SqliteStatement read, db.Prepare("SELECT record FROM commits"));
    ASSERT_OK(read.Step());
    ASSERT_OK_AND_ASSIGN(const std::string_view bytes, Unseal(read.Bytes(0)));
    ASSERT_TRUE(earlier.ParseFromString(std::string(bytes)));
  }
  ASSERT_NE(earlier.collective(), v1::COLLECTIVE_KIND_UNSPECIFIED);
  earlier.clear_collective();
  earlier.clear_reductions();
  const std::string bytes = Seal(earlier.SerializeAsString());
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  Run(fmt::format("UPDATE commits SET record = x'{}'", hex).c_str());
  EXPECT_THAT(Audit(), IsEmpty());
}

TEST_F(JournalAuditTest, AMissingRecordIsAnError) {
  Run("DELETE FROM terms");
  std::filesystem::create_directories(dir_ + "/scratch");
  EXPECT_THAT(AuditJournal(path(), dir_ + "/scratch", 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("missing")));
}

}  // namespace
}  // namespace rondo::server
