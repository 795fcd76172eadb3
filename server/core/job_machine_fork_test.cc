// An old copy of the state directory was put back while workers of the later history are alive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Workers a and b go on to a later round after the copy was made.
struct PutBack {
  PutBack(uint64_t copied_rounds, uint64_t last_round, bool parallel = false)
      : first(copied_rounds, Job(parallel)) {
    copy = first.script.records;
    for (auto& [name, worker] : first.script.workers) {
      worker->last_round = last_round;
      worker->mute_ready = last_round == copied_rounds;
    }
    second = std::make_unique<Script>(first.script, 2);
    second->Run();
    second->Pass(absl::Seconds(2));
    for (auto& [name, worker] : second->workers) {
      worker->last_round = 1'000;
      worker->mute_ready = false;
      seen = worker->seen;
    }
    lost = second->records.size() - copy.size();
    third = std::make_unique<Script>(*second, copy, 3);
  }
  static MachineConfig Job(bool parallel) {
    MachineConfig config = SavingJob();
    if (parallel) config.policy = {.policy = SyncPolicy::kParallel, .round_steps = 4};
    return config;
  }
  // The numbers of the other history are not used again, and every record fits those before it.
  void ExpectBeyond() const {
    History history;
    for (size_t i = 0; i < third->records.size(); ++i) {
      const Record& record = third->records[i];
      EXPECT_OK(CheckNext(record, history));
      Apply(record, &history);
      if (i < copy.size()) continue;
      const auto* group = std::get_if<GroupRecord>(&record);
      EXPECT_TRUE(group == nullptr || group->group > seen.group);
      const auto* order = std::get_if<OrderRecord>(&record);
      EXPECT_TRUE(order == nullptr || order->round > seen.round);
    }
    EXPECT_GT(history.term, seen.term);
  }

  Interrupted first;
  std::vector<Record> copy;
  Seen seen;  // Of the workers, in the history that is lost.
  size_t lost = 0;
  std::unique_ptr<Script> second;
  std::unique_ptr<Script> third;
};

class ForkTest : public testing::TestWithParam<bool> {};

TEST_P(ForkTest, WorkersOfTheLostHistoryGoBackToTheCheckpointOfThisOne) {
  PutBack job(4, 7, GetParam());
  ASSERT_GT(job.lost, 0u);
  ASSERT_EQ(job.third->config.term, job.seen.term);  // The number is used twice,
  job.third->Run();
  job.third->Pass(absl::Seconds(10));
  EXPECT_TRUE(job.third->Noted("other_history"));
  ASSERT_EQ(job.third->Records<RewindRecord>().size(), 1u);
  EXPECT_EQ(job.third->Records<RewindRecord>()[0].to_step, 12u);
  ASSERT_TRUE(job.third->finish);
  EXPECT_EQ(job.third->finish->exit_code, 0) << job.third->finish->reason;
  EXPECT_EQ(job.third->Records<CommitRecord>().back().ledger.samples_used, 300u);
  job.ExpectBeyond();  // but not for long.
  const std::vector<TermRecord> terms = job.third->Records<TermRecord>();
  ASSERT_EQ(terms.size(), 3u);
  ASSERT_TRUE(terms[2].beyond);
  EXPECT_EQ(terms[2].beyond->group, job.seen.group);
  EXPECT_EQ(terms[2].life, terms[1].life);
  for (const auto& [name, worker] : job.third->workers) EXPECT_EQ(worker->exit_code, 0u) << name;
}

TEST_P(ForkTest, WithoutACheckpointItBeginsAnew) {
  PutBack job(1, 2, GetParam());
  job.third->Run();
  job.third->Pass(absl::Seconds(10));
  ASSERT_TRUE(job.third->finish);
  EXPECT_EQ(job.third->finish->exit_code, 0) << job.third->finish->reason;
  EXPECT_EQ(job.third->Records<CommitRecord>().back().ledger.samples_used, 300u);
  job.ExpectBeyond();
}

INSTANTIATE_TEST_SUITE_P(Mode, ForkTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Parallel" : "Local");
});

// The lost history got no further than the order that is open in the copy.
TEST(ForkTest, WhoHoldsTheStateOfTheLastCommitKeepsIt) {
  PutBack job(4, 4);
  job.third->Run();
  job.third->Pass(absl::Seconds(10));
  EXPECT_TRUE(job.third->Noted("other_history"));
  EXPECT_THAT(job.third->Records<RewindRecord>(), IsEmpty());
  ASSERT_EQ(job.third->Records<VoidRecord>().size(), 1u);
  ASSERT_TRUE(job.third->finish);
  EXPECT_EQ(job.third->finish->exit_code, 0) << job.third->finish->reason;
  job.ExpectBeyond();
}

// The coordinator dies after it has met the first of them: to the next term that one is known.
TEST(ForkTest, AnOrderIsNotGivenAgainToWhoHasBeenInALaterGroup) {  // Simulation: PutBacks 1502
  Interrupted first(4);
  const std::vector<Record> copy = first.script.records;
  for (auto& [name, worker] : first.script.workers) {
    worker->last_round = 1'000;
    worker->mute_reduced = true;
  }
  Script second(first.script, 2);
  second.Run();
  ASSERT_EQ(second.Records<GroupRecord>().size(), 2u);  // For an attempt that is not decided.
  std::unique_ptr<ScriptedWorker> b = std::move(second.workers["b"]);
  second.workers.erase("b");
  Script third(second, copy, 3);
  third.Run();
  ASSERT_TRUE(third.Noted("other_history"));
  third.crashed = true;
  third.workers["b"] = std::move(b);
  for (auto& [name, worker] : third.workers) worker->mute_reduced = false;
  Script fourth(third, 4);
  fourth.Run();
  fourth.Pass(absl::Seconds(20));
  ASSERT_TRUE(fourth.finish);
  EXPECT_EQ(fourth.finish->exit_code, 0) << fourth.finish->reason;
}

// Others are in the middle of a round of this history by then.
TEST(ForkTest, OneWhoComesLateMakesANewTermAndTheOthersGoOnInIt) {
  Interrupted first(4, SavingJob(4));
  const std::vector<Record> copy = first.script.records;
  for (auto& [name, worker] : first.script.workers) worker->last_round = 7;
  Script second(first.script, 2);
  second.Run();
  std::unique_ptr<ScriptedWorker> late = std::move(second.workers["b"]);
  second.workers.clear();
  late->last_round = 1'000;
  Script third(second, copy, 3);
  ScriptedWorker& c = third.Join("c", 50);
  ScriptedWorker& d = third.Join("d", 51);
  c.last_round = d.last_round = 6;
  third.Run();
  third.Pass(absl::Seconds(330));  // a and b are not there: c and d go back without them.
  ASSERT_TRUE(c.order);
  ASSERT_EQ(c.order->round, RoundId{7});
  ASSERT_EQ(late->seen.term, c.seen.term);
  const StreamId stream_of_c = c.stream;
  third.workers["b"] = std::move(late);
  ScriptedWorker& b = *third.workers["b"];
  const Seen seen = b.seen;
  b.returning = b.Describe();
  third.Redial(b);
  third.Run();
  EXPECT_EQ(third.Records<TermRecord>().back().term, seen.term.Next());
  EXPECT_THAT(third.close_reasons[stream_of_c], HasSubstr("new term"));
  for (ScriptedWorker* worker : {&c, &d}) {
    worker->last_round = 1'000;
    worker->returning = worker->Describe();
    third.Redial(*worker);
  }
  third.Run();
  third.Pass(absl::Seconds(10));
  ASSERT_TRUE(third.finish);
  EXPECT_EQ(third.finish->exit_code, 0) << third.finish->reason;
  EXPECT_EQ(third.Records<RewindRecord>().size(), 1u);
  EXPECT_THAT(third.Records<VoidRecord>(), IsEmpty());  // Their round went on.
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_GT(third.Records<GroupRecord>().back().group, seen.group);
}

// The journal has lost its newest records only.
TEST(ForkTest, AGroupBeyondTheJournalsIsOfAnotherHistoryThoughItsTermIsKnown) {
  Interrupted first(4);
  std::vector<Record> disk = first.script.records;
  const auto group = std::find_if(disk.begin(), disk.end(), [](const Record& record) {
    return std::holds_alternative<GroupRecord>(record);
  });
  disk.erase(group, disk.end());
  for (auto& [name, worker] : first.script.workers) worker->last_round = 1'000;
  Script second(first.script, disk, 2);
  second.Run();
  second.Pass(absl::Seconds(10));
  EXPECT_TRUE(second.Noted("other_history"));
  ASSERT_TRUE(second.finish);
  EXPECT_EQ(second.finish->exit_code, 0) << second.finish->reason;
  EXPECT_GT(second.Records<GroupRecord>()[0].group, GroupId{1});
}

TEST(ForkTest, ARestartOnTheSameJournalIsNoOtherHistory) {
  Interrupted first(4);
  for (auto& [name, worker] : first.script.workers) worker->last_round = 1'000;
  Script second(first.script, 2);
  second.Run();
  EXPECT_FALSE(second.Noted("other_history"));
  EXPECT_EQ(second.Records<TermRecord>().back().term, Term{2});
  ASSERT_TRUE(second.finish);
}

// It would hear no Welcome of an older term.
TEST(ForkTest, WhoComesFromALaterTermAfterTheEndIsToldOfItAllTheSame) {
  const auto begin = [] {
    auto script = std::make_unique<Script>(SavingJob());
    for (const char* name : {"a", "b"}) script->Join(name);
    return script;
  };
  const auto undisturbed = begin();
  undisturbed->Run();
  const auto first = begin();
  first->crash_after = undisturbed->transactions;  // The end is written, nobody has heard of it.
  first->Run();
  ASSERT_EQ(first->Records<EndRecord>().size(), 1u);
  first->workers["a"]->seen.term = {9};
  Script second(*first, 2);
  second.Run();
  EXPECT_EQ(second.workers["a"]->exit_code, 0u);
  EXPECT_EQ(second.workers["b"]->exit_code, 0u);
  EXPECT_EQ(second.Records<TermRecord>().size(), 1u);
}

}  // namespace
}  // namespace rondo::server
