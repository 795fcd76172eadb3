// What a worker says and keeps when a step of a parallel round fails (rules 18 and 19).
#include <gtest/gtest.h>

#include "worker/core/machine.h"
#include "worker/core/scripted_coordinator.h"

namespace rondo::worker {
namespace {

constexpr GroupId kGroup{5};
constexpr GroupId kNext{6};
constexpr RoundId kRound{1};

// In the middle of a parallel round of four steps from step 10.
void Begin(ScriptedCoordinator& c) {
  c.Welcome();
  c.Prepare();
  c.Form(kGroup, {});
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kRound, Mode::kParallel));
}
void FailAt(ScriptedCoordinator& c, uint64_t step) {
  Failed failed = ScriptedCoordinator::MakeFailed(kGroup, kRound);
  failed.step = step;
  c.Happen(StepsFailed{failed});
}
// To Formed, where this worker stands at `step` then.
void Repair(ScriptedCoordinator& c, StateNeed need, uint64_t step) {
  Assemble assemble;
  assemble.purpose = Purpose::kRepair;
  assemble.group = kNext;
  assemble.limit_seconds = 60;
  assemble.step = step - 1;
  assemble.members = ScriptedCoordinator::Members(need);
  c.Hear(assemble);
  c.Happen(EndpointReady{Endpoint{kNext, "here"}});
  c.Hear(Mesh{kNext, {"a", "here", "c"}, "0123456789abcdef"});
  c.Happen(GroupFormed{Formed{.group = kNext, .state_hash = 4711, .step = step}});
}
Order Rest(uint64_t first_step, uint64_t length) {
  Order order = ScriptedCoordinator::MakeOrder(kNext, kRound, Mode::kParallel, length);
  order.first_step = first_step;
  return order;
}

TEST(RepairTest, AFailedStepKeepsTheOrderAndANewOneGoesOn) {
  ScriptedCoordinator c;
  Begin(c);
  FailAt(c, 12);
  ASSERT_NE(c.LastSaid<Failed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Failed>()->step, 12u);
  Repair(c, StateNeed::kStep, 13);
  ASSERT_NE(c.LastSaid<Formed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Formed>()->step, 13u);
  EXPECT_EQ(c.machine().duties().held_hash(), kInitialHash);  // Not what the repair agreed on.
  c.Hear(Rest(13, 1));
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  EXPECT_EQ(c.Count<Train>(), 2);
  EXPECT_EQ(c.LastCommand<Train>()->order.first_step, 13u);
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kNext, kRound, 55)});
  c.Hear(Commit{kNext, kRound, 0, 55, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
}

TEST(RepairTest, AnAbortWithoutARoundStopsTheStepsAndKeepsTheOrder) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(Abort{kGroup, {}, 0, "w0 was lost"});
  EXPECT_EQ(c.Count<LeaveGroup>(), 1);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  EXPECT_EQ(c.wake_at(), c.now() + absl::Seconds(10));
  FailAt(c, 11);
  EXPECT_NE(c.LastSaid<Failed>(), nullptr);
  EXPECT_EQ(c.wake_at(), absl::InfiniteFuture());
}

TEST(RepairTest, StepsThatDoNotStopAfterAnAbortEndTheProcess) {  // S91
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(Abort{kGroup, {}, 0, "w1 stands still"});
  c.Pass(absl::Seconds(10));
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitInternal);
}

TEST(RepairTest, SaysWhereItStandsAfterEachWelcomeAlsoDuringARepair) {  // Rule 3.
  ScriptedCoordinator c;
  Begin(c);
  FailAt(c, 12);
  Repair(c, StateNeed::kStep, 13);
  c.LoseStream();
  ASSERT_TRUE(c.LastSaid<Hello>()->returning->order.has_value());
  EXPECT_EQ(c.LastSaid<Hello>()->returning->order->group, kGroup);
  EXPECT_EQ(c.LastSaid<Hello>()->returning->order->step, 13u);
  c.Forget();
  Welcome welcome;
  welcome.assembly = kNext;
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<LeaveGroup>(), 0);
  ASSERT_NE(c.LastSaid<Formed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Formed>()->step, 13u);
  ASSERT_NE(c.LastSaid<Failed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Failed>()->step, 13u);  // Not where it failed: where it stands.
  c.Hear(Rest(13, 1));
  EXPECT_EQ(c.Count<Train>(), 1);
}

TEST(RepairTest, AnAbortedResultLeavesTheStepsDone) {  // Rule 19: only the averaging is repeated.
  ScriptedCoordinator c;
  Begin(c);
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kRound, 55)});
  c.Hear(Abort{kGroup, kRound, 0, "the others could not average"});
  EXPECT_EQ(c.Count<DropStaged>(), 1);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  c.LoseStream();
  EXPECT_TRUE(c.LastSaid<Hello>()->returning->staged.empty());
  c.Forget();
  Welcome welcome;
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  EXPECT_EQ(c.LastSaid<Ready>(), nullptr);  // It has no result to vote for.
  ASSERT_NE(c.LastSaid<Failed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Failed>()->step, 14u);
  Repair(c, StateNeed::kHolds, 14);
  c.Hear(Rest(14, 0));
  ASSERT_EQ(c.Count<Train>(), 1);
  EXPECT_EQ(c.LastCommand<Train>()->order.length, 0u);
}

TEST(RepairTest, AnAbortThatOnlyBreaksTheGroupLeavesTheResultStaged) {
  ScriptedCoordinator c;
  Begin(c);
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kRound, 55)});
  c.Hear(Abort{kGroup, {}, 0, "w2 was lost"});
  EXPECT_EQ(c.Count<DropStaged>(), 0);
  c.Hear(Commit{kGroup, kRound, 0, 55, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
}

TEST(RepairTest, WhoIsNotPartOfTheRepairGoesBackToTheRoundsStart) {
  ScriptedCoordinator c;
  Begin(c);
  FailAt(c, 12);
  Assemble join;
  join.purpose = Purpose::kJoin;
  join.round = {1};
  join.members = ScriptedCoordinator::Members(StateNeed::kAll);
  c.Form(kNext, join);
  EXPECT_EQ(c.Count<DropOrder>(), 1);
  EXPECT_EQ(c.machine().duties().held_round(), kRound);
}

TEST(RepairTest, WhoGivesUpARoundInItsMiddleHoldsNothing) {  // Rule 18: its moments have moved.
  ScriptedCoordinator c;
  Begin(c);
  FailAt(c, 12);
  c.LoseStream();
  Welcome welcome;
  welcome.order_fate = OrderFate::kWithdrawn;
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<DropOrder>(), 1);
  c.LoseStream();
  c.Pass(absl::Seconds(3));
  const Returning returning = *c.LastSaid<Hello>()->returning;
  EXPECT_FALSE(returning.order.has_value());
  EXPECT_EQ(returning.round, RoundId{});
  EXPECT_EQ(returning.state_hash, 0u);
}

}  // namespace
}  // namespace rondo::worker
