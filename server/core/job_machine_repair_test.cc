// Parallel rounds whose steps fail (rules 18 and 19).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/job_machine.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Workers a, b, c in the middle of their first round of five steps, ten samples a step.
struct MidSteps {
  MidSteps() : script(MidRound::Job(1, 3, true)) {
    a = &script.Join("a");
    b = &script.Join("b");
    c = &script.Join("c");
    for (ScriptedWorker* worker : {a, b, c}) {
      worker->mute_ready = worker->mute_failed = true;
    }
    script.Run();
  }
  // Its collective of `step` has failed there.
  void Fails(ScriptedWorker* worker, uint64_t step, FailureCause cause = FailureCause::kPeer,
             bool finite = true) {
    worker->stands_at = step;
    Failed failed{worker->order->group, worker->order->round, 0, step, false, "", cause,
                  "connection reset"};
    failed.finite = finite;
    failed.loss_sum = 2 * static_cast<double>(step - worker->order->first_step);
    script.Say(*worker, failed);
    script.Run();
  }
  // All steps of its order are done.
  void IsReady(ScriptedWorker* worker, uint64_t hash) {
    const Order& order = *worker->order;
    Ready ready{order.group, order.round, order.length, 0, 0, true, 1, {}};
    ready.reduced.state_hash = hash;
    worker->stands_at = order.first_step + order.length;
    worker->staged[{order.round, order.group, 0}] = hash;
    script.Say(*worker, ready);
    script.Run();
  }
  // They finish whatever is ordered from now on.
  void Unmute() {
    for (ScriptedWorker* worker : {a, b, c}) worker->mute_ready = false;
  }
  Assemble LastAssemble(const ScriptedWorker* worker) const {
    return worker->Heard<Assemble>().back();
  }
  std::vector<OrderRecord> Orders() const { return script.Records<OrderRecord>(); }
  std::vector<CommitRecord> Commits() const { return script.Records<CommitRecord>(); }

  Script script;
  ScriptedWorker* a = nullptr;
  ScriptedWorker* b = nullptr;
  ScriptedWorker* c = nullptr;
};

TEST(RepairTest, WhoIsAheadGivesItsResultAndTheRoundGoesOn) {  // Rule 18.
  MidSteps mid;
  mid.Fails(mid.a, 2);
  mid.Fails(mid.b, 3);
  EXPECT_EQ(mid.LastAssemble(mid.b).purpose, Purpose::kStart);  // c is still to report.
  mid.Unmute();
  mid.Fails(mid.c, 2);
  const Assemble assemble = mid.a->Heard<Assemble>()[1];
  EXPECT_EQ(assemble.purpose, Purpose::kRepair);
  EXPECT_EQ(assemble.step, 2u);
  EXPECT_EQ(assemble.giver, 1u);
  EXPECT_EQ(assemble.members[0].need, StateNeed::kStep);
  EXPECT_EQ(assemble.members[1].need, StateNeed::kHolds);
  EXPECT_EQ(assemble.members[2].need, StateNeed::kStep);
  const auto orders = mid.Orders();
  ASSERT_GE(orders.size(), 2u);
  EXPECT_EQ(orders[1].round, orders[0].round);
  EXPECT_EQ(orders[1].group, assemble.group);
  EXPECT_EQ(orders[1].first_step, 3u);
  EXPECT_EQ(orders[1].length, 2u);
  const auto commits = mid.Commits();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_EQ(commits[0].first_step, 0u);
  EXPECT_EQ(commits[0].length, 5u);
  EXPECT_EQ(commits[0].samples, 50u);
  EXPECT_EQ(commits[0].ledger.position, 50u);
  EXPECT_EQ(commits[0].group, assemble.group);
  EXPECT_DOUBLE_EQ(commits[0].mean_loss, (3 * 2.0 + 2 * 1.0) / 5);
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  EXPECT_EQ(mid.script.Records<EndRecord>()[0].syncs, 30u);
  EXPECT_TRUE(mid.script.Noted("step_failed"));
  EXPECT_TRUE(mid.script.Noted("step_repaired"));
}

TEST(RepairTest, TheOthersAreToldAtOnceThatAStepHasFailed) {
  MidSteps mid;
  mid.Fails(mid.a, 2);
  for (const ScriptedWorker* worker : {mid.b, mid.c}) {
    ASSERT_EQ(worker->Heard<Abort>().size(), 1u);
    EXPECT_FALSE(worker->Heard<Abort>()[0].round);  // Leave the group: nothing is decided yet.
  }
  EXPECT_TRUE(mid.a->Heard<Abort>().empty());
}

TEST(RepairTest, AMemberThatDiesCountsForTheStepsItTookPartIn) {  // S01, S08: rank 0.
  MidSteps mid;
  mid.script.Break(*mid.a);
  mid.Unmute();
  mid.Fails(mid.b, 4);
  mid.Fails(mid.c, 4);
  EXPECT_EQ(mid.Orders().size(), 1u);  // It has half a second to return.
  mid.script.Pass(absl::Seconds(1));
  const auto commits = mid.Commits();
  ASSERT_GE(commits.size(), 1u);
  EXPECT_THAT(commits[0].members, ElementsAre("b", "c"));
  EXPECT_THAT(commits[0].contributors, ElementsAre("a", "b", "c"));
  EXPECT_EQ(commits[0].samples, 50u);
  EXPECT_EQ(commits[0].ledger.samples_used, 50u);
  mid.script.Pass(absl::Seconds(30));
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 0);
  EXPECT_EQ(mid.Commits().back().ledger.samples_used, 300u);  // None is lost, none is returned.
}

TEST(RepairTest, AMemberThatIsLostEndsTheStepOfTheOthers) {  // Rule 19: not its broken stream.
  MidSteps mid;
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(9));
  EXPECT_TRUE(mid.b->Heard<Abort>().empty());
  for (ScriptedWorker* worker : {mid.b, mid.c}) {
    worker->mute_failed = false;
    worker->stands_at = 1;
  }
  mid.script.Pass(absl::Seconds(2));
  EXPECT_EQ(mid.b->Heard<Abort>().size(), 1u);
  ASSERT_EQ(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].first_step, 1u);
  EXPECT_EQ(mid.Orders()[1].runs.size(), 2u);
}

TEST(RepairTest, AFailedAveragingRepeatsOnlyThat) {  // Rule 19.
  MidSteps mid;
  mid.IsReady(mid.a, 7);
  mid.Fails(mid.b, 5);
  mid.Unmute();
  mid.Fails(mid.c, 5);
  ASSERT_GE(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].first_step, 5u);
  EXPECT_EQ(mid.Orders()[1].length, 0u);
  const auto aborts = mid.a->Heard<Abort>();
  ASSERT_EQ(aborts.size(), 1u);
  EXPECT_EQ(aborts[0].round, RoundId{1});  // What it had staged is void.
  ASSERT_GE(mid.Commits().size(), 1u);
  EXPECT_EQ(mid.Commits()[0].length, 5u);
  EXPECT_EQ(mid.Commits()[0].samples, 50u);
}

TEST(RepairTest, AMajorityAtTheBorderNeedsNoRepair) {  // Rule 6.
  MidSteps mid;
  mid.IsReady(mid.a, 7);
  mid.IsReady(mid.b, 7);
  mid.Unmute();
  mid.Fails(mid.c, 5);
  ASSERT_GE(mid.Commits().size(), 1u);
  EXPECT_EQ(mid.Commits()[0].state_hash, 7u);
  EXPECT_EQ(mid.Commits()[0].samples, 50u);
  const Assemble assemble = mid.c->Heard<Assemble>()[1];
  EXPECT_EQ(assemble.purpose, Purpose::kJoin);
  EXPECT_EQ(assemble.members[2].need, StateNeed::kValues);  // All its steps are done.
}

TEST(RepairTest, WhoLacksTheLastStepOfACommittedRoundTakesAll) {
  MidSteps mid;
  mid.IsReady(mid.a, 7);
  mid.IsReady(mid.b, 7);
  mid.Unmute();
  mid.Fails(mid.c, 4);
  EXPECT_EQ(mid.c->Heard<Assemble>()[1].members[2].need, StateNeed::kAll);
}

TEST(RepairTest, WithoutAnyFiniteGradientTheJobStops) {  // Rule 15.
  MidSteps mid;
  for (ScriptedWorker* worker : {mid.a, mid.b, mid.c}) {
    if (!mid.script.finish) mid.Fails(worker, 2, FailureCause::kNoFactor);
  }
  mid.script.Pass(absl::Seconds(2));
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
  EXPECT_THAT(mid.script.finish->reason, HasSubstr("no worker has finite parameters"));
}

TEST(RepairTest, AStepThatWouldFailAgainEndsTheJobWithItsCause) {
  MidSteps mid;
  mid.Fails(mid.b, 2, FailureCause::kInternal);
  mid.script.Pass(absl::Seconds(2));
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
  EXPECT_THAT(mid.script.finish->reason, HasSubstr("step 2 of round 1 failed at b: connection"));
}

TEST(RepairTest, OneThatARepairHasReachedBeforeIsNotHelpedTwice) {
  MidSteps mid;
  for (ScriptedWorker* worker : {mid.b, mid.c}) worker->mute_formed = true;
  mid.Fails(mid.a, 3);
  mid.Fails(mid.b, 2);
  mid.Fails(mid.c, 2);
  // a has given; b has finished step 2, but the news is lost; then a dies.
  mid.b->stands_at = 3;
  for (ScriptedWorker* worker : {mid.b, mid.c}) worker->mute_formed = false;
  mid.Unmute();
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(2));
  const auto assembled = mid.c->Heard<Assemble>();
  ASSERT_GE(assembled.size(), 4u);
  EXPECT_EQ(assembled[2].members[1].need, StateNeed::kHolds);  // As the coordinator believed.
  EXPECT_EQ(assembled[3].step, 2u);
  EXPECT_EQ(assembled[3].giver, 0u);
  EXPECT_EQ(assembled[3].members[1].need, StateNeed::kStep);
  ASSERT_GE(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].first_step, 3u);
}

TEST(RepairTest, TheOddOneOutOfARepairIsLeftOut) {
  MidSteps mid;
  mid.c->parameters = 666;
  mid.Unmute();
  for (ScriptedWorker* worker : {mid.a, mid.b, mid.c}) mid.Fails(worker, 2);
  EXPECT_TRUE(mid.script.Noted("left_out"));
  ASSERT_GE(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].runs.size(), 2u);
  EXPECT_EQ(mid.script.closed.at(0), mid.c->stream);
  ASSERT_GE(mid.Commits().size(), 1u);
  EXPECT_EQ(mid.Commits()[0].samples, 50u);
}

TEST(RepairTest, AStepThatKeepsFailingEndsTheJob) {  // S14
  MidSteps mid;
  for (int i = 0; i < 5; ++i) {
    for (ScriptedWorker* worker : {mid.a, mid.b, mid.c}) {
      if (!mid.script.finish) mid.Fails(worker, 0);
    }
    EXPECT_EQ(mid.script.finish.has_value(), i == 4) << i;
    mid.script.Pass(absl::Milliseconds(10));
  }
  ASSERT_TRUE(mid.script.finish);
  EXPECT_EQ(mid.script.finish->exit_code, 1);
  EXPECT_THAT(mid.script.finish->reason, HasSubstr("failed 5 times"));
}

TEST(RepairTest, StepsThatGetDoneInBetweenAreProgress) {
  MidSteps mid;
  for (uint64_t step : {0, 1, 2, 3, 4, 5}) {
    for (ScriptedWorker* worker : {mid.a, mid.b, mid.c}) mid.Fails(worker, step);
  }
  EXPECT_FALSE(mid.script.finish);
  EXPECT_EQ(mid.Orders().size(), 7u);
}

TEST(RepairTest, WhoStillCarriesTheOldOrderIsAJoiner) {  // Rule 18.
  MidSteps mid;
  mid.script.Break(*mid.a);
  for (ScriptedWorker* worker : {mid.b, mid.c}) mid.Fails(worker, 2);
  mid.script.Pass(absl::Seconds(1));
  ASSERT_EQ(mid.Orders().size(), 2u);
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 2, false}, {}};
  mid.script.Redial(*mid.a);
  mid.script.Run();
  EXPECT_EQ(mid.a->Heard<Welcome>().back().order_fate, OrderFate::kWithdrawn);
  EXPECT_EQ(mid.a->Heard<Order>().size(), 1u);
  mid.a->returning.reset();
  mid.Unmute();
  mid.IsReady(mid.b, 9);
  mid.IsReady(mid.c, 9);
  const Assemble assemble = mid.LastAssemble(mid.a);
  EXPECT_EQ(assemble.purpose, Purpose::kJoin);
  EXPECT_EQ(assemble.members[0].need, StateNeed::kAll);
  EXPECT_TRUE(mid.script.finish);
}

TEST(RepairTest, AMemberThatHasNotSeenTheNewOrderGetsItWhenItReturns) {
  MidSteps mid;
  mid.Fails(mid.a, 2);
  mid.Fails(mid.b, 2);
  mid.Fails(mid.c, 2);
  ASSERT_EQ(mid.Orders().size(), 2u);
  const GroupId group = mid.Orders()[1].group;
  mid.script.Break(*mid.a);
  mid.a->returning =
      Returning{mid.script.config.job_id, {}, 0, OrderInHand{{1}, {1}, {1}, 2, false}, {}};
  mid.script.Redial(*mid.a);
  mid.script.Run();
  EXPECT_EQ(mid.a->Heard<Welcome>().back().order_fate, OrderFate::kRenewed);
  EXPECT_EQ(mid.a->Heard<Welcome>().back().assembly, group);
  ASSERT_EQ(mid.a->Heard<Order>().size(), 3u);
  EXPECT_EQ(mid.a->Heard<Order>()[2].group, group);
  EXPECT_EQ(mid.a->Heard<Order>()[2].first_step, 2u);
}

TEST(RepairTest, WithoutAMajorityTheJobGoesBack) {  // Rule 19.
  MidSteps mid;
  mid.IsReady(mid.a, 7);
  mid.IsReady(mid.b, 8);
  mid.IsReady(mid.c, 9);
  EXPECT_EQ(mid.Commits().size(), 0u);
  EXPECT_EQ(mid.script.Records<RewindRecord>().size(), 1u);
  EXPECT_EQ(mid.LastAssemble(mid.b).purpose, Purpose::kStart);
}

TEST(RepairTest, OneThatDoesNotAnswerAnAbortIsLeftOut) {
  MidSteps mid;
  mid.Fails(mid.a, 2);
  mid.Fails(mid.b, 2);
  mid.script.Pass(absl::Seconds(10));
  EXPECT_EQ(mid.Orders().size(), 1u);
  mid.script.Pass(absl::Seconds(2));
  ASSERT_EQ(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].runs.size(), 2u);
}

TEST(RepairTest, ARoundIsFinishedByWhoeverIsLeft) {  // Rule 13.
  MachineConfig config = MidRound::Job(3, 3, true);
  Script script(config);
  std::vector<ScriptedWorker*> all;
  for (const char* name : {"a", "b", "c"}) all.push_back(&script.Join(name));
  for (ScriptedWorker* worker : all) worker->mute_ready = true;
  script.Run();
  script.Break(*all[0]);
  script.Break(*all[1]);
  all[2]->mute_ready = false;
  all[2]->stands_at = 1;
  script.Say(*all[2], Failed{{1}, {1}, 0, 1, false, "a", FailureCause::kPeer, "reset"});
  script.Pass(absl::Seconds(2));
  ASSERT_EQ(script.Records<CommitRecord>().size(), 1u);
  EXPECT_EQ(script.Records<CommitRecord>()[0].length, 5u);
  EXPECT_FALSE(script.finish);  // Now it waits for workers.min.
}

TEST(RepairTest, ALeaverWithoutTheTimeForTheRoundLeavesInItsMiddle) {  // Rule 16, S75.
  MidSteps mid;
  mid.script.Pass(absl::Seconds(4));  // Two steps in four seconds: six more are needed.
  mid.script.Say(*mid.a, Leave{{1}, 2, 3, "SIGTERM"});
  for (ScriptedWorker* worker : {mid.b, mid.c}) {
    worker->mute_failed = false;
    worker->stands_at = 2;
  }
  mid.script.Run();
  EXPECT_EQ(mid.a->exit_code, 5u);
  ASSERT_EQ(mid.Orders().size(), 2u);
  EXPECT_EQ(mid.Orders()[1].first_step, 2u);
}

TEST(RepairTest, ALeaverWithTimeFinishesTheRound) {  // Rule 16.
  MidSteps mid;
  mid.script.Pass(absl::Seconds(4));
  mid.script.Say(*mid.a, Leave{{1}, 2, 30, "SIGTERM"});
  mid.script.Run();
  EXPECT_FALSE(mid.a->exit_code);
  EXPECT_EQ(mid.Orders().size(), 1u);
}

}  // namespace
}  // namespace rondo::server
