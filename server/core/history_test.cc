#include "server/core/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/status_matchers.h"
#include "server/core/messages.h"
#include "server/core/policy.h"
#include "server/core/records.h"

namespace rondo::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Time At(int seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

GroupRecord GroupOf(uint64_t id, std::vector<std::string> names) {
  GroupRecord record{.group = {id}, .purpose = Purpose::kJoin, .members = {}, .at = At(1)};
  for (const std::string& name : names) {
    record.members.push_back({name, {id * 10 + name[0]}, StateNeed::kHolds});
  }
  return record;
}

OrderRecord OrderOf(uint64_t round, uint64_t group, uint64_t first_step, uint64_t length) {
  OrderRecord record;
  record.round = {round};
  record.group = {group};
  record.first_step = first_step;
  record.length = length;
  record.runs.resize(2);
  record.batches = {5, 5};
  record.at = At(static_cast<int>(100 * round));
  return record;
}

CommitRecord CommitOf(const OrderRecord& order, std::vector<std::string> contributors) {
  CommitRecord record;
  record.round = order.round;
  record.group = order.group;
  record.attempt = 1;
  record.mode = order.mode;
  record.first_step = order.first_step;
  record.length = order.length;
  record.state_hash = 1000 + order.round.value;
  record.members = {"a", "b"};
  record.contributors = std::move(contributors);
  record.bytes_sent = 7;
  record.step_seconds = 2;
  record.reduce_seconds = 0.5;
  record.ledger.position = order.first_step + order.length;
  record.ledger.samples_used = 10 * record.ledger.position;
  return record;
}

// Applies what passes CheckNext; a test that feeds anything else fails.
History Fold(const std::vector<Record>& records) {
  History history;
  for (const Record& record : records) {
    EXPECT_OK(CheckNext(record, history));
    Apply(record, &history);
  }
  return history;
}

std::vector<Record> TwoRounds() {
  OrderRecord first = OrderOf(1, 1, 0, 4);
  first.mode = RoundMode::kParallel;
  OrderRecord second = OrderOf(2, 1, 4, 6);
  second.evaluation_due = second.save_due = true;
  ReferenceRecord reference;
  reference.facts.parameters = 100;
  reference.total_steps = 30;
  return {TermRecord{{1}, At(0)}, reference, GroupOf(1, {"a", "b"}),      first,
          CommitOf(first, {"a"}), second,    CommitOf(second, {"a", "b"})};
}

TEST(HistoryTest, FoldsCommitsIntoTheJobsState) {
  const History history = Fold(TwoRounds());
  EXPECT_EQ(history.term, Term{1});
  EXPECT_EQ(history.reference->total_steps, 30u);
  EXPECT_EQ(history.last_group, GroupId{1});
  EXPECT_EQ(history.last_round, RoundId{2});
  EXPECT_FALSE(history.open);
  EXPECT_EQ(history.committed.round, RoundId{2});
  EXPECT_EQ(history.committed.step, 10u);
  EXPECT_EQ(history.committed.state_hash, 1002u);
  EXPECT_EQ(history.committed.ledger.position, 10u);
  EXPECT_EQ(history.committed.syncs, 5u);  // Four of the parallel round, one of the local one.
  EXPECT_EQ(history.committed.checksum.rounds(), 2);
  EXPECT_EQ(history.committed.checksum.value(), 4u + 2 * 6u);
  EXPECT_DOUBLE_EQ(history.committed.step_seconds, 2.0 / 6);
  EXPECT_EQ(history.commits.at({1}).state_hash, 1001u);
  EXPECT_EQ(history.totals.bytes_sent, 14u);
  EXPECT_EQ(history.totals.bytes_if_parallel, 10u * 2 * 400);
  EXPECT_EQ(history.totals.started_at, At(100));
  EXPECT_TRUE(history.evaluation_pending);
  EXPECT_TRUE(history.save_pending);
}

TEST(HistoryTest, KnowsTheIncarnationsWhoseStepsAreInTheLastCommit) {
  std::vector<Record> records = TwoRounds();
  EXPECT_EQ(Fold(records).committed.contributors.size(), 2u);
  records.resize(5);
  const History history = Fold(records);
  ASSERT_EQ(history.committed.contributors.size(), 1u);
  EXPECT_EQ(history.committed.contributors[0].name, "a");
  EXPECT_EQ(history.committed.contributors[0].incarnation, Incarnation{10 + 'a'});
}

TEST(HistoryTest, KeepsTheMembersOfTheOpenOrderWhenARetryHasAnotherGroup) {
  std::vector<Record> records = TwoRounds();
  records.resize(4);
  records.push_back(GroupOf(2, {"b"}));
  const History history = Fold(records);
  ASSERT_TRUE(history.open);
  EXPECT_EQ(history.open->round, RoundId{1});
  ASSERT_EQ(history.open_members.size(), 2u);
  EXPECT_EQ(history.open_members[0].name, "a");
  EXPECT_EQ(history.group->members.size(), 1u);
}

TEST(HistoryTest, EvaluationsAndCheckpointsEndWhatWasDue) {
  std::vector<Record> records = TwoRounds();
  records.push_back(EvaluationRecord{{2}, 10, 0.5, 0.75, 20, 3});
  records.push_back(CheckpointRecord{{2}, 10, 1002});
  const History history = Fold(records);
  EXPECT_FALSE(history.evaluation_pending);
  EXPECT_FALSE(history.save_pending);
  EXPECT_EQ(history.totals.last_evaluation->accuracy, 0.75);
  EXPECT_EQ(history.totals.evaluate_seconds, 3);
  EXPECT_EQ(history.totals.checkpoint_step, 10u);
  EXPECT_EQ(history.checkpoints.at({2}).state.ledger.position, 10u);
}

TEST(HistoryTest, AVoidedRoundIsNotOpenAndItsNumberIsUsedUp) {
  std::vector<Record> records = TwoRounds();
  records.push_back(OrderOf(3, 1, 10, 4));
  records.push_back(VoidRecord{{3}, "nobody"});
  History history = Fold(records);
  EXPECT_FALSE(history.open);
  EXPECT_EQ(history.committed.step, 10u);
  EXPECT_EQ(history.last_round, RoundId{3});
  EXPECT_THAT(CheckNext(OrderOf(3, 1, 10, 4), history), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_OK(CheckNext(OrderOf(4, 1, 10, 4), history));
}

TEST(HistoryTest, ARewindGoesBackToTheStateOfItsCheckpoint) {
  std::vector<Record> records = TwoRounds();
  records.push_back(CheckpointRecord{{2}, 10, 1002});
  const OrderRecord third = OrderOf(3, 1, 10, 4);
  records.push_back(third);
  records.push_back(CommitOf(third, {"a", "b"}));
  records.push_back(EvaluationRecord{{3}, 14, 0.4, 0.8, 20, 3});
  records.push_back(CheckpointRecord{{3}, 14, 1003});
  records.push_back(OrderOf(4, 1, 14, 4));
  records.push_back(RewindRecord{{2}, 10, {3}, "no holder is left", At(500)});
  const History history = Fold(records);
  EXPECT_FALSE(history.open);
  EXPECT_EQ(history.committed.round, RoundId{2});
  EXPECT_EQ(history.committed.step, 10u);
  EXPECT_EQ(history.committed.ledger.position, 10u);
  EXPECT_EQ(history.committed.checksum.rounds(), 2);
  EXPECT_EQ(history.last_round, RoundId{4});
  EXPECT_FALSE(history.commits.contains({3}));
  EXPECT_EQ(history.totals.checkpoint_step, 10u);
  EXPECT_FALSE(history.totals.last_evaluation);
  EXPECT_EQ(history.totals.bytes_sent, 21u);  // What was sent was sent.
}

CommitRecord SparseCommitOf(const OrderRecord& order, std::vector<ResidualNorm> residuals) {
  CommitRecord record = CommitOf(order, {"a", "b"});
  record.collective = Collective::kSparse;
  record.reductions = 1;
  record.residuals = std::move(residuals);
  return record;
}

NoticeRecord LostOf(const std::string& worker, double norm) {
  NoticeRecord notice{.at = At(5), .kind = std::string(kResidualZeroed), .text = ""};
  notice.worker = worker;
  notice.residual_norm_squared = norm;
  return notice;
}

TEST(HistoryTest, KnowsWhoseResidualIsLeftAndCountsThoseThatWereLost) {
  const OrderRecord first = OrderOf(1, 1, 0, 4);
  const OrderRecord second = OrderOf(2, 1, 4, 4);
  const History history = Fold({TermRecord{{1}, At(0)}, GroupOf(1, {"a", "b"}), first,
                                SparseCommitOf(first, {{"a", 4}, {"b", 9}}), LostOf("b", 9), second,
                                SparseCommitOf(second, {{"a", 1}}), LostOf("c", 16)});
  EXPECT_EQ(history.committed.residuals, (std::map<std::string, double>{{"a", 1}}));
  EXPECT_EQ(history.committed.residuals_lost, 2u);
  EXPECT_EQ(history.committed.residual_lost_norm_squared, 25);
  EXPECT_EQ(history.trials.sparse.size(), 2u);
}

TEST(HistoryTest, ARewindBringsResidualsAndTheirLossesBackButForgetsNoMeasurement) {
  const OrderRecord first = OrderOf(1, 1, 0, 4);
  const OrderRecord second = OrderOf(2, 1, 4, 4);
  const History history =
      Fold({TermRecord{{1}, At(0)}, GroupOf(1, {"a", "b"}), first,
            SparseCommitOf(first, {{"a", 4}, {"b", 9}}), CheckpointRecord{{1}, 4, 1001, {"a", "b"}},
            second, SparseCommitOf(second, {{"a", 1}}), LostOf("b", 9),
            RewindRecord{{1}, 4, {2}, "lost", At(9)}});
  EXPECT_EQ(history.committed.residuals, (std::map<std::string, double>{{"a", 4}, {"b", 9}}));
  EXPECT_EQ(history.committed.residuals_lost, 0u);
  EXPECT_EQ(history.trials.sparse.size(), 2u);
}

TEST(HistoryTest, ARewindWithoutACheckpointGoesToTheBeginning) {
  std::vector<Record> records = TwoRounds();
  records.push_back(RewindRecord{{}, 0, {1}, "no holder is left", At(500)});
  const History history = Fold(records);
  EXPECT_EQ(history.committed.step, 0u);
  EXPECT_EQ(history.committed.syncs, 0u);
  EXPECT_THAT(history.commits, IsEmpty());
  EXPECT_EQ(history.last_round, RoundId{2});
}

TEST(HistoryTest, ATermAfterTheEndGoesOn) {
  std::vector<Record> records = TwoRounds();
  EndRecord end;
  end.state = EndState::kStopped;
  records.push_back(end);
  EXPECT_TRUE(Fold(records).end);
  EXPECT_OK(CheckNext(NoticeRecord{}, Fold(records)));
  EXPECT_THAT(CheckNext(GroupOf(9, {"a"}), Fold(records)), StatusIs(absl::StatusCode::kDataLoss));
  records.push_back(TermRecord{{2}, At(9)});
  EXPECT_FALSE(Fold(records).end);
}

TEST(HistoryTest, RemembersTheNewestCommitsOnly) {
  History history = Fold({TermRecord{{1}, At(0)}, GroupOf(1, {"a", "b"})});
  for (uint64_t round = 1; round <= kCommitsKept + 2; ++round) {
    const OrderRecord order = OrderOf(round, 1, round - 1, 1);
    Apply(order, &history);
    Apply(CommitOf(order, {"a", "b"}), &history);
  }
  EXPECT_EQ(history.commits.size(), kCommitsKept);
  EXPECT_EQ(history.commits.begin()->first, RoundId{3});
}

struct BadCase {
  const char* name;
  Record record;
  const char* says;
};

CommitRecord Commit3From(uint64_t first_step, uint64_t samples_used) {
  CommitRecord commit = CommitOf(OrderOf(3, 1, first_step, 4), {});
  commit.ledger.samples_used = samples_used;
  return commit;
}

class BadRecordTest : public testing::TestWithParam<BadCase> {};

// After two rounds, with the third one open.
TEST_P(BadRecordTest, IsFound) {
  std::vector<Record> records = TwoRounds();
  records.push_back(OrderOf(3, 1, 10, 4));
  EXPECT_THAT(CheckNext(GetParam().record, Fold(records)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    AfterTwoRounds, BadRecordTest,
    testing::Values(
        BadCase{"OldTerm", TermRecord{{1}, At(0)}, "term 1 after term 1"},
        BadCase{"SecondReference", ReferenceRecord{}, "second reference"},
        BadCase{"OldGroup", GroupOf(1, {"a"}), "group 1 after group 1"},
        BadCase{"EmptyGroup", GroupOf(2, {}), "without members"},
        BadCase{"OldRound", OrderOf(2, 1, 10, 4), "after round 3"},
        BadCase{"SecondOpenRound", OrderOf(4, 1, 10, 4), "while round 3 is open"},
        BadCase{"OrderOfAnotherGroup", OrderOf(3, 7, 10, 4), "to group 7"},
        BadCase{"CommitOfAnotherRound", CommitOf(OrderOf(2, 1, 4, 6), {}), "not open"},
        BadCase{"CommitFromAnotherStep", Commit3From(11, 200), "from step 11"},
        BadCase{"LedgerGoesBack", Commit3From(10, 99), "goes back"},
        BadCase{"VoidOfAnotherRound", VoidRecord{{2}, ""}, "not open"},
        BadCase{"EvaluationOfALaterRound", EvaluationRecord{{3}, 14, 0, 0, 1, 0}, "evaluation"},
        BadCase{"CheckpointOfALaterRound", CheckpointRecord{{3}, 14, 0}, "checkpoint of round 3"},
        BadCase{"RewindToNoCheckpoint", RewindRecord{{2}, 10, {}, "", At(0)}, "no checkpoint"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(HistoryTest, NothingComesBeforeTheFirstTerm) {
  EXPECT_THAT(CheckNext(NoticeRecord{}, History{}), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace rondo::server
