#include "server/edge/journal_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/mix64.h"
#include "common/status_matchers.h"
#include "server/edge/journal_samples.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using JournalReaderTest = JournalTest;

TEST_F(JournalReaderTest, AnswersWhatUsersAsk) {
  ASSERT_OK(Make()->Write(AllKinds()));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const v1::Job job, reader->Job());
  EXPECT_EQ(job.id(), job_.id());
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
  ASSERT_THAT(rounds, SizeIs(2));
  EXPECT_FALSE(rounds[0].evaluation.has_value());
  ASSERT_TRUE(rounds[1].evaluation.has_value());
  EXPECT_EQ(rounds[1].evaluation->accuracy, 0.75);
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> second, reader->Rounds({2}, 10));
  EXPECT_THAT(second, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> first, reader->Rounds({0}, 1));
  EXPECT_EQ(first.at(0).commit.round.value, 1u);
  ASSERT_OK_AND_ASSIGN(const std::optional<EndRecord> end, reader->End());
  EXPECT_EQ(end->state, EndState::kFailed);
  ASSERT_OK_AND_ASSIGN(const Term term, reader->LastTerm());
  EXPECT_EQ(term, Term{1});
  ASSERT_OK_AND_ASSIGN(const std::optional<ReferenceRecord> reference, reader->Reference());
  EXPECT_EQ(reference->total_steps, 460u);
  ASSERT_OK_AND_ASSIGN(const std::vector<NoticeRecord> notices, reader->Notices(2, 10));
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, "ended");
  ASSERT_OK_AND_ASSIGN(const std::vector<EvaluationRecord> evaluations, reader->Evaluations());
  EXPECT_THAT(evaluations, SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const std::vector<CheckpointRecord> checkpoints, reader->Checkpoints());
  EXPECT_EQ(checkpoints.at(0).step, 30u);
}

TEST_F(JournalReaderTest, MarksTheRoundsThatARewindHasUndoneAndLeavesTheRestOut) {
  ASSERT_OK(Make()->Write({Commit(1), CheckpointRecord{{1}, 20, kBig}, Commit(2),
                           EvaluationRecord{{2}, 30, 0.5}, CheckpointRecord{{2}, 30, kBig},
                           Commit(3), RewindRecord{{1}, 20, {2}, "", kNow}, Commit(4)}));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({1}, 10));
  ASSERT_THAT(rounds, SizeIs(4));
  for (const RoundRow& row : rounds) {
    const uint64_t number = row.commit.round.value;
    EXPECT_EQ(row.undone, number == 2 || number == 3) << number;
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<CheckpointRecord> checkpoints, reader->Checkpoints());
  ASSERT_THAT(checkpoints, SizeIs(1));
  EXPECT_EQ(checkpoints[0].step, 20u);
  ASSERT_OK_AND_ASSIGN(const std::vector<EvaluationRecord> evaluations, reader->Evaluations());
  EXPECT_THAT(evaluations, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, reader->Records());
  EXPECT_THAT(records, SizeIs(8));
}

TEST_F(JournalReaderTest, GivesTheRecordsAroundARound) {
  const auto order = [](uint64_t round) {
    OrderRecord record = Order1();
    record.round = {round};
    record.group = {1};
    return record;
  };
  GroupRecord group = Group();
  group.group = {1};
  ASSERT_OK(Make()->Write({TermRecord{{1}, kNow}, group, order(1), Commit(1), order(2),
                           NoticeRecord{kNow, "here", ""}, Commit(2), order(3),
                           NoticeRecord{kNow, "later", ""}, Commit(3),
                           RewindRecord{{1}, 10, {2}, "lost", kNow}}));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> around, reader->RecordsAround({3}));
  std::vector<std::string> kinds;
  for (const Record& record : around) kinds.push_back(std::to_string(record.index()));
  // The order's group, the last commit but one before it, ..., and the rewind.
  const std::vector<Record> expected = {group,          Commit(1), order(2),
                                        NoticeRecord{}, Commit(2), order(3),
                                        NoticeRecord{}, Commit(3), RewindRecord{}};
  std::vector<std::string> wanted;
  for (const Record& record : expected) wanted.push_back(std::to_string(record.index()));
  EXPECT_EQ(kinds, wanted);
  EXPECT_THAT(reader->RecordsAround({7}), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const RoundId last, reader->LastOrdered());
  EXPECT_EQ(last, RoundId{3});
}

TEST_F(JournalReaderTest, TheChoiceOfACollectiveBelongsToEveryRoundAfterIt) {
  const std::unique_ptr<SqliteJournal> journal = Make();
  GroupRecord group = Group();
  std::vector<Record> records = {group};
  for (uint64_t round = 1; round <= 6; ++round) {
    OrderRecord order = Order1();
    order.round = {round};
    order.group = group.group;
    records.emplace_back(order);
    records.emplace_back(Commit(round));
    if (round == 2) records.emplace_back(NoticeRecord{kNow, std::string(kCollectiveChosen), "c"});
  }
  ASSERT_OK(journal->Write(records));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  const auto chosen = [&](uint64_t round) {
    const absl::StatusOr<std::vector<Record>> around = reader->RecordsAround({round});
    EXPECT_OK(around);
    return std::count_if(around->begin(), around->end(), [](const Record& record) {
      const auto* notice = std::get_if<NoticeRecord>(&record);
      return notice != nullptr && notice->kind == kCollectiveChosen;
    });
  };
  EXPECT_EQ(chosen(6), 1);
  EXPECT_EQ(chosen(1), 0);
}

TEST_F(JournalReaderTest, ANewRunHasNoEndAndNoRounds) {
  Make();
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::optional<EndRecord> end, reader->End());
  EXPECT_FALSE(end.has_value());
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
  EXPECT_THAT(rounds, IsEmpty());
}

TEST_F(JournalReaderTest, IsReadWhileItIsWritten) {
  const std::unique_ptr<SqliteJournal> journal = Make();
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_OK(journal->Write({Commit(round)}));
    ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
    EXPECT_THAT(rounds, SizeIs(round));
  }
}

TEST_F(JournalReaderTest, NamesAFileThatIsMissing) {
  EXPECT_THAT(JournalReader::Open(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(SqliteJournal::Open(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(JournalReaderTest, RefusesAnotherVersion) {
  Make();
  {
    ASSERT_OK_AND_ASSIGN(SqliteDatabase db, SqliteDatabase::Open(path_, SqliteMode::kReadWrite));
    ASSERT_OK(db.Run("PRAGMA user_version=99"));
  }
  EXPECT_THAT(JournalReader::Open(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("99")));
  EXPECT_THAT(SqliteJournal::Open(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("99")));
}

TEST_F(JournalReaderTest, RefusesRandomBytesByName) {
  SplitMix64 random(1);
  std::ofstream out(path_, std::ios::binary);
  for (int i = 0; i < 20'000; ++i) out.put(static_cast<char>(random.Next()));
  out.close();
  EXPECT_THAT(JournalReader::Open(path_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

TEST_F(JournalReaderTest, NoticesATruncatedFile) {
  std::vector<Record> batch;
  for (uint64_t round = 1; round <= 500; ++round) batch.push_back(Commit(round));
  ASSERT_OK(Make()->Write(batch));
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  auto reader = JournalReader::Open(path_);
  const absl::Status status = reader.ok() ? (*reader)->Check() : reader.status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

TEST_F(JournalReaderTest, NeverCrashesOnFlippedBytes) {
  ASSERT_OK(Make()->Write(AllKinds()));
  std::string good(std::filesystem::file_size(path_), '\0');
  std::ifstream(path_, std::ios::binary).read(good.data(), static_cast<long>(good.size()));
  SplitMix64 random(7);
  for (int trial = 0; trial < 100; ++trial) {
    std::string bad = good;
    for (int i = 0; i < 20; ++i) bad[random.Below(bad.size())] = static_cast<char>(random.Next());
    std::ofstream(path_, std::ios::binary).write(bad.data(), static_cast<long>(bad.size()));
    auto reader = JournalReader::Open(path_);
    if (!reader.ok()) continue;
    (void)(*reader)->Check();
    (void)(*reader)->Records();
    (void)(*reader)->Rounds({0}, 100);
    (void)(*reader)->Job();
  }
}

}  // namespace
}  // namespace rondo::server
