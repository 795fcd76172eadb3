#include "server/edge/journal_sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_samples.h"
#include "server/edge/record_codec.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using JournalSqliteTest = JournalTest;

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
  EXPECT_EQ(commit.collective, Collective::kTopkGather);
  EXPECT_EQ(commit.density, 0.125);
  ASSERT_EQ(commit.costs.size(), 2u);
  EXPECT_EQ(commit.costs[1].phase, CostPhase::kGather);
  EXPECT_EQ(commit.costs[1].bytes_sent, kBig);
  EXPECT_EQ(commit.costs[1].calls, 4u);
  ASSERT_TRUE(commit.sparse.has_value());
  EXPECT_EQ(commit.sparse->reductions, kBig);
  EXPECT_EQ(commit.sparse->rebalanced, 9u);
  EXPECT_EQ(commit.largest_region, kBig);
  ASSERT_EQ(commit.residuals.size(), 2u);
  EXPECT_EQ(commit.residuals[0].worker, "w0");
  EXPECT_EQ(commit.residuals[0].norm_squared, 1.0 / 3);
  EXPECT_EQ(commit.reductions, kBig);
  ASSERT_OK_AND_ASSIGN(
      const NoticeRecord notice,
      DecodeNotice(EncodeNotice(NoticeRecord{kNow, "k", "t", {7}, "w", 0.5, 2.25})));
  EXPECT_EQ(notice.residual_norm_squared, 2.25);
  EndRecord end;
  end.residuals_undelivered = 3;
  end.residual_norm_squared = 1.5;
  ASSERT_OK_AND_ASSIGN(const EndRecord decoded_end, DecodeEnd(EncodeEnd(end)));
  EXPECT_EQ(decoded_end.residuals_undelivered, 3u);
  EXPECT_EQ(decoded_end.residual_norm_squared, 1.5);
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

TEST_F(JournalSqliteTest, DecodesATermThatGoesOnBeyondAnotherHistory) {
  ASSERT_OK_AND_ASSIGN(const TermRecord plain, DecodeTerm(EncodeTerm({{3}, kNow, kBig})));
  EXPECT_EQ(plain.life, kBig);
  EXPECT_FALSE(plain.beyond);
  ASSERT_OK_AND_ASSIGN(const TermRecord term,
                       DecodeTerm(EncodeTerm({{5}, kNow, 7, Seen{{4}, kBig, {8}, {9}}})));
  ASSERT_TRUE(term.beyond);
  EXPECT_EQ(term.beyond->term, Term{4});
  EXPECT_EQ(term.beyond->life, kBig);
  EXPECT_EQ(term.beyond->group, GroupId{8});
  EXPECT_EQ(term.beyond->round, RoundId{9});
}

TEST_F(JournalSqliteTest, RefusesBytesThatAreNoRecord) {
  EXPECT_THAT(DecodeGroup("\xff\xff\xff"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeGroup(""), StatusIs(absl::StatusCode::kDataLoss));  // Purpose 0.
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

// The lock beside it was deleted.
TEST_F(JournalSqliteTest, OfTwoWritersTheOneThatFindsTheOthersRecordsWritesNothing) {
  const std::unique_ptr<SqliteJournal> first = Make();
  ASSERT_OK(first->Write({Commit(1)}));
  ASSERT_OK_AND_ASSIGN(const auto second, SqliteJournal::Open(path_));
  EXPECT_EQ(second->last_record(), 1);
  ASSERT_OK(first->Write({Commit(2)}));
  EXPECT_THAT(second->Write({Commit(2)}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("another coordinator")));
  ASSERT_OK(first->Write({Commit(3)}));
  ASSERT_OK_AND_ASSIGN(const auto third, SqliteJournal::Open(path_));
  ASSERT_OK(third->Write({Commit(4)}));
  EXPECT_THAT(first->Write({Commit(4)}), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK_AND_ASSIGN(const auto reader, JournalReader::Open(path_));
  ASSERT_OK(reader->Check());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, reader->Records());
  EXPECT_THAT(records, SizeIs(4));
}

TEST_F(JournalSqliteTest, AFileThatWasPutInItsPlaceIsNotWrittenPast) {
  const std::unique_ptr<SqliteJournal> journal = Make();
  ASSERT_OK(journal->Write({Commit(1)}));
  std::filesystem::copy_file(path_, path_ + ".copy");
  std::filesystem::rename(path_ + ".copy", path_);
  EXPECT_THAT(journal->Write({Commit(2)}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("replaced")));
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

}  // namespace
}  // namespace rondo::server
