#include "server/edge/journal_sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mix64.h"
#include "common/status_matchers.h"
#include "server/edge/journal_reader.h"
#include "server/edge/record_codec.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kBig = std::numeric_limits<uint64_t>::max() - 1;
const absl::Time kNow = absl::FromUnixMicros(1'700'000'000'123'456);

SampleRun Run(uint64_t first) {
  return {.epoch = 2,
          .first = first,
          .count = 3,
          .stride = 4,
          .steps = 5,
          .advance = 6,
          .same_steps = true};
}

GroupRecord Group() {
  GroupRecord record;
  record.group = {3};
  record.purpose = Purpose::kRepair;
  record.members = {{"w0", {kBig}, StateNeed::kHolds}, {"w1", {7}, StateNeed::kMoments}};
  record.at = kNow;
  return record;
}

OrderRecord Order1() {
  OrderRecord record;
  record.round = {1};
  record.group = {3};
  record.mode = RoundMode::kParallel;
  record.collective = Collective::kSparse;
  record.first_step = 10;
  record.length = 20;
  record.rate_first = 0.1;
  record.rates_hash = kBig;
  record.runs = {{Run(0), Run(1)}, {}, {Run(2)}};
  record.density = 0.25;
  record.batches = {2, 0, kBig};
  record.tail_dropped = 5;
  record.after = {2, 3, {Run(4)}, 6, 7};
  record.save_due = true;
  record.base_hash = kBig;
  record.so_far = RoundSoFar{7, {2, 1, {Run(5)}, 8, 9}, kBig, {"a", "b"}, 6, 1.5, 2};
  record.at = kNow;
  return record;
}

CommitRecord Commit(uint64_t round) {
  CommitRecord record;
  record.round = {round};
  record.group = {3};
  record.attempt = 2;
  record.attempts = 4;
  record.mode = RoundMode::kLocal;
  record.first_step = 10 * round;
  record.length = 10;
  record.rate_first = 1.0 / 3;
  record.state_hash = kBig;
  record.mean_loss = std::numeric_limits<double>::quiet_NaN();
  record.parameter_norm_squared = std::numeric_limits<double>::infinity();
  record.residual_norm_squared = std::numeric_limits<double>::denorm_min();
  record.members = {"w0", "w1"};
  record.contributors = {"w1"};
  record.samples = 640;
  record.bytes_sent = kBig;
  record.step_seconds = 1;
  record.reduce_seconds = 2;
  record.control_seconds = 3;
  record.seconds = 6;
  record.ledger.epoch = 1;
  record.ledger.position = 64;
  record.ledger.returned = {Run(9)};
  record.ledger.samples_used = 12;
  record.ledger.samples_dropped = 13;
  record.at = kNow;
  return record;
}

// One of every kind, and some twice.
std::vector<Record> AllKinds() {
  ReferenceRecord reference;
  reference.facts = {"layout", "data", 1500, 297, 17226, 5, {{"a/b", 7, "abc"}, {"c", kBig, ""}}};
  reference.total_steps = 460;
  EndRecord end;
  end.state = EndState::kFailed;
  end.reason = "why \xff not";
  end.step = 460;
  end.syncs = 46;
  end.checksum = 0xffffffff;
  end.samples_unused = 8;
  end.at = kNow;
  return {TermRecord{{1}, kNow},
          NoticeRecord{kNow, "started", std::string("not \xc3\x28 UTF-8")},
          reference,
          Group(),
          Order1(),
          Commit(1),
          Commit(2),
          VoidRecord{{3}, "nobody has it"},
          EvaluationRecord{{2}, 30, 0.5, 0.75, 297, 0.25},
          CheckpointRecord{{2}, 30, kBig},
          NoticeRecord{kNow, "ended", "", {7}, "worker-1", 0.5},
          end,
          RewindRecord{{2}, 30, {4}, "nobody \xff holds it", kNow},
          RequestRecord{RequestKind::kPause, "lunch \xff", "", {}, kNow},
          RequestRecord{RequestKind::kDrain, "", "worker-1", {kBig}, kNow}};
}

// The bytes of a record: equal if and only if the records are.
std::string Bytes(const Record& record) {
  struct Encode {
    std::string operator()(const TermRecord& r) { return EncodeTerm(r); }
    std::string operator()(const ReferenceRecord& r) { return EncodeReference(r); }
    std::string operator()(const GroupRecord& r) { return EncodeGroup(r); }
    std::string operator()(const OrderRecord& r) { return EncodeOrder(r); }
    std::string operator()(const CommitRecord& r) {
      return EncodeCommit(r) + "|" + EncodeLedger(r.ledger);
    }
    std::string operator()(const VoidRecord& r) { return EncodeVoid(r); }
    std::string operator()(const EvaluationRecord& r) { return EncodeEvaluation(r); }
    std::string operator()(const CheckpointRecord& r) { return EncodeCheckpoint(r); }
    std::string operator()(const NoticeRecord& r) { return EncodeNotice(r); }
    std::string operator()(const EndRecord& r) { return EncodeEnd(r); }
    std::string operator()(const RewindRecord& r) { return EncodeRewind(r); }
    std::string operator()(const RequestRecord& r) { return EncodeRequest(r); }
  };
  return std::visit(Encode(), record);
}

class JournalSqliteTest : public testing::Test {
 protected:
  JournalSqliteTest() {
    dir_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    path_ = dir_ + "/journal.db";
    job_.set_name("digits");
    job_.set_id("digits-0123456789abcdef");
  }

  std::unique_ptr<SqliteJournal> Make() {
    EXPECT_OK(SqliteJournal::Create(path_, job_, kNow));
    auto journal = SqliteJournal::Open(path_);
    EXPECT_OK(journal);
    return *std::move(journal);
  }

  std::string dir_;
  std::string path_;
  v1::Job job_;
};

TEST_F(JournalSqliteTest, ReadsBackEveryKindOfRecordAsItWasInTheSameOrder) {
  const std::vector<Record> written = AllKinds();
  ASSERT_OK(Make()->Write(written));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK(reader->Check());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> read, reader->Records());
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].index(), written[i].index()) << i;
    EXPECT_EQ(Bytes(read[i]), Bytes(written[i])) << i;
  }
}

TEST_F(JournalSqliteTest, DecodesTheValuesThatWereEncoded) {
  ASSERT_OK_AND_ASSIGN(const CommitRecord commit,
                       DecodeCommit(EncodeCommit(Commit(5)), EncodeLedger(Commit(5).ledger)));
  EXPECT_EQ(commit.round.value, 5u);
  EXPECT_TRUE(std::isnan(commit.mean_loss));
  EXPECT_EQ(commit.rate_first, 1.0 / 3);
  EXPECT_EQ(commit.state_hash, kBig);
  EXPECT_EQ(commit.at, kNow);
  EXPECT_EQ(commit.contributors, std::vector<std::string>{"w1"});
  EXPECT_EQ(commit.ledger.returned.at(0).first, 9u);
  ASSERT_OK_AND_ASSIGN(const OrderRecord order, DecodeOrder(EncodeOrder(Order1())));
  EXPECT_EQ(order.mode, RoundMode::kParallel);
  EXPECT_EQ(order.collective, Collective::kSparse);
  EXPECT_EQ(order.runs.at(2).at(0).first, 2u);
  EXPECT_TRUE(order.runs.at(0).at(1).same_steps);
  EXPECT_EQ(order.density, 0.25);
  EXPECT_EQ(order.batches.at(2), kBig);
  EXPECT_EQ(order.tail_dropped, 5u);
  EXPECT_EQ(order.after.position, 3u);
  EXPECT_EQ(order.after.returned.at(0).first, 4u);
  EXPECT_FALSE(order.evaluation_due);
  EXPECT_TRUE(order.save_due);
  EXPECT_EQ(order.base_hash, kBig);
  ASSERT_TRUE(order.so_far.has_value());
  EXPECT_EQ(order.so_far->steps, 7u);
  EXPECT_EQ(order.so_far->ledger.returned.at(0).first, 5u);
  EXPECT_EQ(order.so_far->ledger.samples_dropped, 9u);
  EXPECT_EQ(order.so_far->samples, kBig);
  EXPECT_EQ(order.so_far->contributors, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(order.so_far->loss_steps, 6u);
  EXPECT_EQ(order.so_far->loss_sum, 1.5);
  EXPECT_EQ(order.so_far->orders, 2u);
  ASSERT_OK_AND_ASSIGN(const GroupRecord group, DecodeGroup(EncodeGroup(Group())));
  EXPECT_EQ(group.members.at(1).need, StateNeed::kMoments);
  EXPECT_EQ(group.members.at(0).incarnation.value, kBig);
  EXPECT_EQ(group.purpose, Purpose::kRepair);
}

TEST_F(JournalSqliteTest, RefusesBytesThatAreNoRecord) {
  EXPECT_THAT(DecodeGroup("\xff\xff\xff"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeGroup(""), StatusIs(absl::StatusCode::kDataLoss));  // Purpose 0.
}

TEST_F(JournalSqliteTest, AnswersWhatUsersAsk) {
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

TEST_F(JournalSqliteTest, WhatARewindHasUndoneIsNoAnswer) {
  ASSERT_OK(Make()->Write({Commit(1), CheckpointRecord{{1}, 20, kBig}, Commit(2),
                           EvaluationRecord{{2}, 30, 0.5}, CheckpointRecord{{2}, 30, kBig},
                           Commit(3), RewindRecord{{1}, 20, {2}, "", kNow}, Commit(4)}));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({1}, 10));
  ASSERT_THAT(rounds, SizeIs(2));
  EXPECT_EQ(rounds[0].commit.round.value, 1u);
  EXPECT_EQ(rounds[1].commit.round.value, 4u);
  ASSERT_OK_AND_ASSIGN(const std::vector<CheckpointRecord> checkpoints, reader->Checkpoints());
  ASSERT_THAT(checkpoints, SizeIs(1));
  EXPECT_EQ(checkpoints[0].step, 20u);
  ASSERT_OK_AND_ASSIGN(const std::vector<EvaluationRecord> evaluations, reader->Evaluations());
  EXPECT_THAT(evaluations, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, reader->Records());
  EXPECT_THAT(records, SizeIs(8));
}

TEST_F(JournalSqliteTest, GivesTheRecordsAroundARound) {
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

TEST_F(JournalSqliteTest, ANewRunHasNoEndAndNoRounds) {
  Make();
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::optional<EndRecord> end, reader->End());
  EXPECT_FALSE(end.has_value());
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
  EXPECT_THAT(rounds, IsEmpty());
}

TEST_F(JournalSqliteTest, IsReadWhileItIsWritten) {
  const std::unique_ptr<SqliteJournal> journal = Make();
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_OK(journal->Write({Commit(round)}));
    ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
    EXPECT_THAT(rounds, SizeIs(round));
  }
}

TEST_F(JournalSqliteTest, GoesOnWithItsNumbersAfterItWasClosed) {
  ASSERT_OK(Make()->Write({Commit(1), NoticeRecord{kNow, "one", ""}}));
  {
    ASSERT_OK_AND_ASSIGN(const auto again, SqliteJournal::Open(path_));
    ASSERT_OK(again->Write({NoticeRecord{kNow, "two", ""}, Commit(2)}));
  }
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, reader->Records());
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(std::get<CommitRecord>(records[3]).round.value, 2u);
  ASSERT_OK_AND_ASSIGN(const std::vector<NoticeRecord> notices, reader->Notices(2, 1));
  EXPECT_EQ(notices.at(0).kind, "two");
}

TEST_F(JournalSqliteTest, AFullDiskLeavesNothingOfTheBatchAndTheNextTrySucceeds) {
  const std::unique_ptr<SqliteJournal> journal = Make();
  ASSERT_OK(journal->SetPageLimit(1));  // As many as there are.
  std::vector<Record> batch;
  for (uint64_t round = 1; round <= 500; ++round) batch.push_back(Commit(round));
  EXPECT_THAT(journal->Write(batch),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(path_)));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> none, reader->Rounds({0}, 10));
  EXPECT_THAT(none, IsEmpty());
  ASSERT_OK(journal->SetPageLimit(0));
  ASSERT_OK(journal->Write(batch));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> all, reader->Rounds({0}, 1000));
  EXPECT_THAT(all, SizeIs(500));
}

TEST_F(JournalSqliteTest, IsNotMadeTwice) {
  Make();
  EXPECT_THAT(SqliteJournal::Create(path_, job_, kNow), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(JournalSqliteTest, IsNotMixedWithWhatADeletedOneLeft) {
  {
    const std::unique_ptr<SqliteJournal> journal = Make();
    ASSERT_OK(journal->Write({Commit(1)}));
    std::filesystem::copy_file(path_ + "-wal", dir_ + "/kept");
  }
  std::filesystem::remove(path_);
  std::filesystem::copy_file(dir_ + "/kept", path_ + "-wal");
  Make();
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader->Rounds({0}, 10));
  EXPECT_THAT(rounds, IsEmpty());
}

TEST_F(JournalSqliteTest, NamesAFileThatIsMissing) {
  EXPECT_THAT(JournalReader::Open(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(SqliteJournal::Open(path_), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(JournalSqliteTest, RefusesAnotherVersion) {
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

TEST_F(JournalSqliteTest, RefusesRandomBytesByName) {
  SplitMix64 random(1);
  std::ofstream out(path_, std::ios::binary);
  for (int i = 0; i < 20'000; ++i) out.put(static_cast<char>(random.Next()));
  out.close();
  EXPECT_THAT(JournalReader::Open(path_), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

TEST_F(JournalSqliteTest, NoticesATruncatedFile) {
  std::vector<Record> batch;
  for (uint64_t round = 1; round <= 500; ++round) batch.push_back(Commit(round));
  ASSERT_OK(Make()->Write(batch));
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  auto reader = JournalReader::Open(path_);
  const absl::Status status = reader.ok() ? (*reader)->Check() : reader.status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

TEST_F(JournalSqliteTest, NeverCrashesOnFlippedBytes) {
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
