// Jobs whose collective is sparse, or chosen: what orders say, what becomes of residuals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "server/core/collective.h"
#include "server/core/explain.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/core/replay.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MachineConfig JobOf(Collective kind, uint64_t min, uint64_t max) {
  MachineConfig config = SmallJob(min, max);  // Eight local rounds of four steps, but the last.
  config.collective.kind = kind;
  config.collective.density = 0.125;
  return config;
}

// So that ring and sparse take these times.
ScriptedWorker& Join(Script& script, const std::string& name, double ring = 1, double sparse = 2) {
  ScriptedWorker& worker = script.Join(name);
  worker.ring_seconds = ring;
  worker.sparse_seconds = sparse;
  worker.leaves_residual = name[0] - 'a' + 1;
  return worker;
}

std::vector<Collective> CollectivesOf(const Script& script) {
  std::vector<Collective> all;
  for (const OrderRecord& order : script.Records<OrderRecord>()) all.push_back(order.collective);
  return all;
}

// Whose residuals were lost, as "a 1" with the squared norm.
std::vector<std::string> LostIn(const Script& script) {
  std::vector<std::string> lost;
  for (const NoticeRecord& notice : script.Records<NoticeRecord>()) {
    if (notice.kind != kResidualZeroed) continue;
    lost.push_back(notice.worker + " " +
                   std::to_string(static_cast<int>(notice.residual_norm_squared)));
  }
  return lost;
}

ReplayReport ReplayOf(const Script& script) { return Replay(script.config, script.records); }

TEST(SparseJobTest, OrdersHaveTheDensityOfTheirFirstStep) {
  MachineConfig config = JobOf(Collective::kSparse, 2, 2);
  config.collective.warmup_steps = 8;
  config.collective.warmup_density = 0.5;
  Script script(config);
  ScriptedWorker& a = Join(script, "a");
  Join(script, "b");
  script.Run();
  const std::vector<OrderRecord> orders = script.Records<OrderRecord>();
  ASSERT_THAT(orders, SizeIs(8));
  EXPECT_THAT(CollectivesOf(script), Each(Collective::kSparse));
  EXPECT_EQ(orders[0].density, 0.5);
  EXPECT_EQ(orders[1].density, 0.25);
  EXPECT_EQ(orders[2].density, 0.125);
  EXPECT_EQ(a.Heard<Order>()[1].density, 0.25);
  EXPECT_EQ(a.Heard<Order>()[1].collective, Collective::kSparse);
  EXPECT_EQ(script.Records<CommitRecord>()[1].density, 0.25);
  EXPECT_EQ(ReplayOf(script).found, 0u);
}

TEST(SparseJobTest, CommitsAddUpWhatMembersSay) {
  Script script(JobOf(Collective::kSparse, 2, 2));
  Join(script, "a");
  Join(script, "b");
  script.Run();
  const CommitRecord commit = script.Records<CommitRecord>().at(0);
  ASSERT_TRUE(commit.sparse.has_value());
  EXPECT_EQ(commit.sparse->selected, 10u);
  EXPECT_EQ(commit.sparse->delivered, 5u);
  EXPECT_EQ(commit.largest_region, 5u);
  EXPECT_EQ(commit.reductions, 1u);
  ASSERT_THAT(commit.costs, SizeIs(1));
  EXPECT_EQ(commit.costs[0].bytes_sent, 200u);
  EXPECT_EQ(commit.costs[0].seconds, 0.1);
  ASSERT_THAT(commit.residuals, SizeIs(2));
  EXPECT_EQ(commit.residuals[1].worker, "b");
  EXPECT_EQ(commit.residuals[1].norm_squared, 2);
}

TEST(SparseJobTest, TheEndCountsResidualsThatWereNotDelivered) {
  Script script(JobOf(Collective::kSparse, 2, 2));
  Join(script, "a");
  Join(script, "b");
  script.Run();
  const EndRecord end = script.Records<EndRecord>().at(0);
  EXPECT_EQ(end.residuals_undelivered, 2u);
  EXPECT_EQ(end.residual_norm_squared, 3);
  EXPECT_THAT(LostIn(script), IsEmpty());
  EXPECT_EQ(script.machine.status(script.now).residuals_undelivered, 2u);
}

// Two rounds of a and b are done, a works on the third.
struct ThirdRound {
  explicit ThirdRound(Collective kind = Collective::kSparse) : script(JobOf(kind, 1, 3)) {
    a = &Join(script, "a");
    b = &Join(script, "b");
    a->last_round = 2;
    script.Pass(absl::Seconds(31));
  }
  Script script;
  ScriptedWorker* a;
  ScriptedWorker* b;
};

TEST(SparseJobTest, WhoIsNotInACommitLosesItsResidualByName) {
  ThirdRound third;
  third.script.Break(*third.a);
  third.script.Pass(absl::Seconds(20));
  EXPECT_THAT(LostIn(third.script), ElementsAre("a 1"));
  const EndRecord end = third.script.Records<EndRecord>().at(0);
  EXPECT_EQ(end.residuals_undelivered, 2u);  // That of a, and what b has at the end.
  EXPECT_EQ(end.residual_norm_squared, 3);
  EXPECT_EQ(ReplayOf(third.script).found, 0u);
}

TEST(SparseJobTest, ANewProcessStartsWithoutAResidualAndTheEventSaysSoOnce) {
  ThirdRound third;
  third.b->last_round = 4;
  third.script.Break(*third.a);
  third.script.Pass(absl::Seconds(11));
  third.script.Join("a", 2);
  third.script.Run();
  ScriptedWorker& b = *third.b;
  b.last_round = ~uint64_t{0};
  third.script.Say(b, Ready{b.order->group, b.order->round, b.order->length, 0, 4, true, 1, {}});
  third.script.Pass(absl::Seconds(5));
  EXPECT_TRUE(third.script.finish);
  EXPECT_THAT(third.script.Records<CommitRecord>().back().members, ElementsAre("a", "b"));
  EXPECT_THAT(LostIn(third.script), ElementsAre("a 1"));
  EXPECT_EQ(ReplayOf(third.script).found, 0u);
}

TEST(SparseJobTest, WhoComesBackInTimeKeepsItsResidual) {
  ThirdRound third;
  third.script.Break(*third.a);
  third.a->returning = third.a->Describe();
  third.a->last_round = ~uint64_t{0};
  third.script.Redial(*third.a);
  third.script.Pass(absl::Seconds(5));
  EXPECT_THAT(LostIn(third.script), IsEmpty());
  EXPECT_TRUE(third.script.finish);
}

TEST(SparseJobTest, AnOutvotedResultCostsTheResidual) {
  Script script(JobOf(Collective::kSparse, 3, 3));
  Join(script, "a");
  Join(script, "b");
  ScriptedWorker& c = Join(script, "c");
  c.last_round = 1;
  script.Run();
  c.wrong_hash = 13;
  c.last_round = 2;
  Ready ready{c.order->group, c.order->round, c.order->length, 0, 4, true, 1, {}};
  script.Say(c, ready);
  script.Run();
  EXPECT_THAT(LostIn(script), testing::Contains("c 3"));
  EXPECT_EQ(ReplayOf(script).found, 0u);
}

TEST(SparseJobTest, AResidualOfGradientsEndsWithTheParallelRounds) {
  MachineConfig config = JobOf(Collective::kSparse, 2, 2);
  config.policy.policy = SyncPolicy::kPostLocal;
  config.policy.round_steps = 5;
  config.policy.switch_step = 10;
  Script script(config);
  Join(script, "a");
  Join(script, "b");
  script.Run();
  EXPECT_THAT(LostIn(script), ElementsAre("a 1", "b 2"));
  EXPECT_EQ(script.Records<EndRecord>().at(0).residuals_undelivered, 4u);
  EXPECT_EQ(ReplayOf(script).found, 0u);
}

// A job that began with a version that knew the ring alone.
TEST(RingJobTest, AReplayTakesCommitsOfBeforeReductionsWereCounted) {
  Script script(SmallJob(2, 2));
  for (const char* name : {"a", "b"}) Join(script, name);
  script.Run();
  size_t commits = 0;
  for (Record& record : script.records) {
    auto* commit = std::get_if<CommitRecord>(&record);
    if (commit == nullptr || ++commits > 4) continue;
    commit->reductions = 0;
    commit->costs.clear();
  }
  EXPECT_EQ(ReplayOf(script).found, 0u);
}

TEST(SparseJobTest, AReplayFindsALossThatNoEventTells) {
  ThirdRound third;
  third.script.Break(*third.a);
  third.script.Pass(absl::Seconds(20));
  std::vector<Record> records;
  for (const Record& record : third.script.records) {
    const auto* notice = std::get_if<NoticeRecord>(&record);
    if (notice == nullptr || notice->kind != kResidualZeroed) records.push_back(record);
  }
  const ReplayReport report = Replay(third.script.config, records);
  ASSERT_GT(report.found, 0u);
  EXPECT_THAT(report.differences[0].what, HasSubstr("residual of a"));
}

// ------------------------------------------------------------------------------------ auto

TEST(AutoTest, TakesTurnsThenTheFasterOneStays) {
  for (const bool sparse_is_faster : {false, true}) {
    MachineConfig config = JobOf(Collective::kAuto, 2, 2);
    config.epochs = 5;
    Script script(config);
    for (const char* name : {"a", "b"}) Join(script, name, 1, sparse_is_faster ? 0.5 : 2);
    script.Run();
    const std::vector<Collective> all = CollectivesOf(script);
    ASSERT_THAT(all, SizeIs(testing::Gt(9)));
    for (size_t i = 0; i < all.size(); ++i) {
      const bool sparse = i < 8 ? i % 2 == 1 : sparse_is_faster;
      EXPECT_EQ(all[i], sparse ? Collective::kSparse : Collective::kRing) << i;
    }
    EXPECT_TRUE(script.Noted(std::string(kCollectiveChosen)));
    EXPECT_THAT(script.machine.status(script.now).collective_text,
                HasSubstr(sparse_is_faster ? "sparse stays" : "ring stays"));
    EXPECT_THAT(LostIn(script), IsEmpty());  // The ring delivers what sparse has left.
    EXPECT_EQ(ReplayOf(script).found, 0u);
  }
}

TEST(AutoTest, IsExplainedFromTheJournal) {
  MachineConfig config = JobOf(Collective::kAuto, 2, 2);
  config.epochs = 5;
  Script script(config);
  for (const char* name : {"a", "b"}) Join(script, name, 1, 0.5);
  script.Run();
  ExplainConfig explain{config.policy, config.schedule, config.collective};
  explain.schedule.steps = 50;
  ASSERT_OK_AND_ASSIGN(const RoundStory trial, ExplainRound(explain, script.records, {2}));
  EXPECT_EQ(trial.collective, Collective::kSparse);
  EXPECT_EQ(trial.density, 0.125);
  EXPECT_THAT(trial.collective_text, HasSubstr("take turns"));
  ASSERT_OK_AND_ASSIGN(const RoundStory later, ExplainRound(explain, script.records, {11}));
  EXPECT_THAT(later.collective_text, HasSubstr("sparse stays"));
  ASSERT_TRUE(later.sparse.has_value());
  EXPECT_EQ(later.sparse->entries_selected, 5);
}

TEST(AutoTest, ALaterTermKnowsWhatWasMeasured) {
  MachineConfig config = JobOf(Collective::kAuto, 2, 2);
  config.epochs = 5;
  for (const size_t transactions : {6, 9, 12, 15}) {
    Script dead(config);
    for (const char* name : {"a", "b"}) Join(dead, name, 1, 0.5);
    dead.crash_after = transactions;
    dead.Run();
    ASSERT_TRUE(dead.crashed);
    Script script(dead, 2);
    for (auto& [name, worker] : script.workers) worker->sparse_seconds = 0.5;
    script.Run();
    ASSERT_TRUE(script.finish) << transactions;
    const std::vector<Collective> all = CollectivesOf(script);
    for (size_t i = 8; i < all.size(); ++i) EXPECT_EQ(all[i], Collective::kSparse) << i;
    EXPECT_EQ(ReplayOf(script).found, 0u) << transactions;
  }
}

TEST(AutoTest, AReplayFindsAnotherChoice) {
  MachineConfig config = JobOf(Collective::kAuto, 2, 2);
  config.epochs = 5;
  Script script(config);
  for (const char* name : {"a", "b"}) Join(script, name, 1, 0.5);
  script.Run();
  for (Record& record : script.records) {
    auto* commit = std::get_if<CommitRecord>(&record);
    if (commit != nullptr && commit->collective == Collective::kSparse) commit->reduce_seconds = 3;
  }
  const ReplayReport report = ReplayOf(script);
  ASSERT_GT(report.found, 0u);
  EXPECT_EQ(report.differences[0].what, "collective");
}

}  // namespace
}  // namespace rondo::server
