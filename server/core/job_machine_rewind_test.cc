// Nobody holds the job's state any more: rules 14, 19 and 21.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/core/job_machine.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(RewindTest, NewProcessesUnderTheOldNamesGoOnFromTheCheckpointAtOnce) {
  Interrupted job(4);
  job.Replace({"a", "b"});
  const std::vector<RewindRecord> rewinds = job.script.Records<RewindRecord>();
  ASSERT_EQ(rewinds.size(), 1u);
  EXPECT_EQ(rewinds[0].to_round, RoundId{3});
  EXPECT_EQ(rewinds[0].to_step, 12u);
  EXPECT_EQ(rewinds[0].first_undone, RoundId{4});
  EXPECT_TRUE(job.script.Noted("rewound"));
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("a", StateNeed::kFile), Pair("b", StateNeed::kFile)));
  const Assemble assemble = job.script.workers["a"]->Heard<Assemble>()[0];
  EXPECT_EQ(assemble.step, 12u);
  EXPECT_EQ(assemble.state_hash, job.script.Records<CommitRecord>()[2].state_hash);
  // Numbers only grow, steps and samples go back.
  const CommitRecord next = job.script.Records<CommitRecord>()[4];
  EXPECT_EQ(next.round, RoundId{6});
  EXPECT_EQ(next.first_step, 12u);
  EXPECT_EQ(next.ledger.samples_used, 160u);
  job.ExpectDone();
}

TEST(RewindTest, WaitsForThoseWhoMayBringTheStateBack) {
  Interrupted job(4);
  job.BreakAll();
  job.script.Pass(absl::Seconds(15));  // Both are lost.
  job.script.Join("c");
  job.script.Join("d");
  job.script.Run();
  job.script.Pass(absl::Seconds(280));
  EXPECT_TRUE(job.script.Records<RewindRecord>().empty());
  EXPECT_TRUE(job.script.Records<VoidRecord>().empty());
  job.script.Pass(absl::Seconds(25));
  ASSERT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  // Neither has a file of its own: one reads the parameters, the other takes them.
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("c", StateNeed::kFile), Pair("d", StateNeed::kAll)));
  job.ExpectDone();
}

TEST(RewindTest, WhatProcessesThatAreGoneWereWritingIsOfNoUse) {
  Interrupted job(4);
  const auto alive = [&] {
    std::vector<std::string> names;
    for (const auto& [name, incarnation] : job.script.trims.back().alive) names.push_back(name);
    return names;
  };
  EXPECT_THAT(alive(), ElementsAre("a", "b"));
  job.BreakAll();
  job.script.Pass(absl::Seconds(15));  // Both are lost.
  job.script.Join("c");
  job.script.Join("d");
  job.script.Run();
  job.script.Pass(absl::Seconds(310));
  EXPECT_THAT(alive(), ElementsAre("c", "d"));
}

TEST(RewindTest, ALostCarrierWhoComesBackInTimeBringsTheRoundToItsEnd) {  // S09, rule 11
  Interrupted job(4);
  ScriptedWorker& a = *job.script.workers["a"];
  job.BreakAll();
  job.script.Pass(absl::Seconds(100));
  a.last_round = 1000;
  a.returning = Returning{job.script.config.job_id, {4}, a.state, {{{1}, {1}, {5}, 16, true}}, {}};
  job.script.Redial(a);
  job.script.Run();
  job.script.Pass(absl::Seconds(1));
  EXPECT_TRUE(job.script.Records<RewindRecord>().empty());
  EXPECT_EQ(job.script.Records<CommitRecord>().back().round, RoundId{5});
  EXPECT_THAT(job.script.Records<CommitRecord>().back().contributors, ElementsAre("a"));
}

TEST(RewindTest, WithoutACheckpointTheJobBeginsAnew) {
  Interrupted job(2);
  job.Replace({"a", "b"});
  ASSERT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  EXPECT_EQ(job.script.Records<RewindRecord>()[0].to_step, 0u);
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("a", StateNeed::kInitial), Pair("b", StateNeed::kAll)));
  job.ExpectDone();
}

TEST(RewindTest, AnIncarnationOfBeforeIsAJoinerWhateverItHolds) {
  Interrupted job(4, SavingJob(3));
  ScriptedWorker& a = *job.script.workers["a"];
  job.BreakAll();
  job.script.Pass(absl::Seconds(15));
  job.script.Join("c").last_round = 6;
  job.script.Join("d").last_round = 6;
  job.script.Run();
  job.script.Pass(absl::Seconds(310));
  ASSERT_EQ(job.script.Records<RewindRecord>().size(), 1u);
  // It says that it holds the very round that the job went back to: with moments of later steps.
  const uint64_t hash = job.script.Records<CommitRecord>()[2].state_hash;
  a.returning = Returning{job.script.config.job_id, {3}, hash, {}, {}};
  job.script.Redial(a);
  job.script.Run();
  for (const char* name : {"c", "d"}) {
    ScriptedWorker& worker = *job.script.workers[name];
    worker.last_round = 1000;
    const Order& order = *worker.order;
    job.script.Say(worker, Ready{order.group, order.round, order.length, 0, 4, true, 1, {}});
  }
  a.last_round = 1000;
  job.script.Run();
  EXPECT_THAT(job.NeedsOfGroup(2),
              ElementsAre(Pair("a", StateNeed::kAll), Pair("c", StateNeed::kHolds),
                          Pair("d", StateNeed::kHolds)));
}

TEST(RewindTest, AFileOfANameThatStayedAwayIsNotUsedLater) {
  Interrupted job(4, SavingJob(3));
  job.Replace({"a", "c"});
  for (const char* name : {"a", "c"}) job.script.workers[name]->last_round = 0;
  job.script.Pass(absl::Seconds(15));  // b is lost, and then not waited for any longer.
  job.script.Pass(absl::Seconds(310));
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("a", StateNeed::kFile), Pair("c", StateNeed::kAll)));
  for (const char* name : {"a", "c"}) job.script.Break(*job.script.workers[name]);
  for (const char* name : {"a", "b", "c"}) job.script.Join(name, 20);
  job.script.Run();
  job.script.Pass(absl::Seconds(5));
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 2u);
  EXPECT_THAT(job.NeedsOfGroup(2),
              ElementsAre(Pair("a", StateNeed::kFile), Pair("b", StateNeed::kAll),
                          Pair("c", StateNeed::kAll)));
}

TEST(RewindTest, WhoCannotReadItsFileTakesTheStateFromOneWhoCan) {
  Interrupted job(4);
  job.BreakAll();
  job.script.Join("a", 11).cannot_read = true;
  job.script.Join("b", 12);
  job.script.Run();
  EXPECT_TRUE(job.script.Noted("checkpoint_unreadable"));
  EXPECT_THAT(job.NeedsOfGroup(2),
              ElementsAre(Pair("a", StateNeed::kAll), Pair("b", StateNeed::kFile)));
  job.ExpectDone();
}

// The term after `job`'s coordinator and all of its workers have died, with processes of these
// names.
std::unique_ptr<Script> BeginAnew(Interrupted& job, bool fresh,
                                  const std::vector<std::string>& names) {
  job.script.crashed = true;
  job.script.workers.clear();
  job.script.config.fresh_workers = fresh;
  job.script.config.workers_at_start = names.size();
  auto next = std::make_unique<Script>(job.script, 2);
  for (const std::string& name : names) next->Join(name, 30);
  next->Run();
  return next;
}

TEST(RewindTest, FewerAndOtherWorkersGoOnAtOnceWhenTheFormerProcessesAreKnownToBeGone) {
  for (const bool parallel : {false, true}) {
    for (const char* name : {"a", "z"}) {
      MachineConfig config = SavingJob();
      config.workers_min = 1;
      if (parallel) config.policy = {.policy = SyncPolicy::kParallel, .round_steps = 4};
      Interrupted job(4, config);
      const auto next = BeginAnew(job, /*fresh=*/true, {name});
      ASSERT_TRUE(next->finish) << name;
      EXPECT_EQ(next->finish->exit_code, 0) << next->finish->reason;
      EXPECT_EQ(next->Records<RewindRecord>().size(), 1u);
      EXPECT_FALSE(next->Noted("worker_lost"));
    }
  }
}

TEST(RewindTest, AsManyAsAtTheStartGoOnAtOnce) {  // `--workers N` holds for the coordinator's life.
  MachineConfig config = SavingJob(/*workers_max=*/16);
  config.workers_at_start = 3;
  config.wait = absl::Seconds(30);
  Interrupted job(4, config, {"a", "b", "c"});
  job.Replace({"a", "b", "c"});
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 0) << job.script.finish->reason;
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 1u);
}

TEST(RewindTest, NobodyWaitsForWorkersThatAreKnownByNameToBeGone) {
  MachineConfig config = SavingJob(3);
  config.workers_min = 1;
  for (const bool all : {true, false}) {
    Interrupted job(4, config);
    job.script.config.gone_workers = {"a"};
    if (all) job.script.config.gone_workers.insert("b");
    const auto next = BeginAnew(job, /*fresh=*/false, {"z"});
    EXPECT_EQ(next->finish.has_value(), all);
    EXPECT_EQ(next->Records<RewindRecord>().size(), all ? 1u : 0u);
  }
}

TEST(RewindTest, ANewTermThatKnowsNothingWaitsAndSaysForWhomAndByWhichKey) {
  MachineConfig config = SavingJob(3);  // A place is left.
  config.workers_min = 1;
  Interrupted job(4, config);
  const auto next = BeginAnew(job, /*fresh=*/false, {"z"});
  EXPECT_TRUE(next->Records<RewindRecord>().empty());
  next->Pass(absl::Seconds(20));
  const std::string reason = next->machine.status(next->now).reason;
  EXPECT_THAT(reason, testing::HasSubstr("a and b"));
  EXPECT_THAT(reason, testing::HasSubstr("workers.rewind_after_seconds"));
  next->Pass(absl::Seconds(300));
  EXPECT_EQ(next->Records<RewindRecord>().size(), 1u);
  ASSERT_TRUE(next->finish);
  EXPECT_EQ(next->finish->exit_code, 0);
}

// Both cannot read until `group` groups have failed.
void ReplaceByBlind(Interrupted& job, size_t groups) {
  job.BreakAll();
  job.script.Join("a", 11).cannot_read = true;
  job.script.Join("b", 12).cannot_read = true;
  for (int i = 0; i < 1000 && job.script.Records<GroupRecord>().size() <= groups; ++i) {
    if (!job.script.RunOne()) break;
  }
}

TEST(RewindTest, ACheckpointThatNobodyCanReadGivesWayToAnOlderOne) {  // S84
  Interrupted job(6);
  job.script.damaged = {20};
  ReplaceByBlind(job, 3);  // The first group, then one for each who cannot read step 20.
  for (const char* name : {"a", "b"}) job.script.workers[name]->cannot_read = false;
  job.script.Run();
  std::vector<uint64_t> targets;
  for (const RewindRecord& rewind : job.script.Records<RewindRecord>()) {
    targets.push_back(rewind.to_step);
  }
  EXPECT_THAT(targets, ElementsAre(20, 12));
  job.ExpectDone();
}

TEST(RewindTest, WithNoReadableCheckpointTheJobStopsAndLosesNothing) {
  Interrupted job(4);
  job.script.damaged = {12};
  ReplaceByBlind(job, 10);
  job.script.Run();
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 1);
  EXPECT_THAT(job.script.finish->reason, testing::HasSubstr("step 12"));
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 1u);
}

TEST(RewindTest, AJobThatIsStoppedWithoutAHolderEndsAtItsCheckpoint) {
  Interrupted job(4);
  job.BreakAll();
  job.script.Pass(absl::Seconds(15));
  job.script.Handle(StopRequested{"Ctrl-C"});
  job.script.Pass(absl::Seconds(15));
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 0);
  EXPECT_EQ(job.script.Records<EndRecord>().back().state, EndState::kStopped);
  EXPECT_EQ(job.script.Records<EndRecord>().back().step, 12u);
}

TEST(RewindTest, OnceAllIsSavedNobodyIsNeededForTheEnd) {
  MachineConfig config = SavingJob();
  config.has_test_set = false;
  Interrupted job(8, config);
  job.ExpectDone();
}

// Parallel rounds of 4 steps whose members end with different parameters.
TEST(RewindTest, ParallelMembersThatDifferGoBackButNotForEver) {  // Rule 19.
  MachineConfig config = SavingJob();
  config.policy.policy = SyncPolicy::kParallel;
  config.policy.round_steps = 4;
  Interrupted job(4, config);
  ScriptedWorker& a = *job.script.workers["a"];
  ScriptedWorker& b = *job.script.workers["b"];
  a.last_round = b.last_round = 1000;
  b.wrong_hash = 99;
  for (ScriptedWorker* worker : {&a, &b}) {
    Ready ready{worker->order->group, worker->order->round, 4, 0, 4, true, 1, {}};
    ready.reduced.state_hash = worker == &a ? 98 : 99;
    job.script.Say(*worker, ready);
  }
  job.script.Run();
  ASSERT_TRUE(job.script.finish);
  EXPECT_EQ(job.script.finish->exit_code, 1);
  EXPECT_EQ(job.script.Records<RewindRecord>().size(), 2u);
  EXPECT_THAT(job.NeedsOfGroup(1),
              ElementsAre(Pair("a", StateNeed::kFile), Pair("b", StateNeed::kFile)));
}

}  // namespace
}  // namespace rondo::server
