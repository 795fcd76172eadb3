// The coordinator goes away and comes back in a new term: the worker goes on with its order, keeps
// what it has, and tells all of it (rules 7 and 20).
#include <gtest/gtest.h>

#include <utility>

#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/core/actions.h"
#include "worker/core/machine.h"
#include "worker/core/messages.h"
#include "worker/core/scripted_coordinator.h"

namespace rondo::worker {
namespace {

constexpr GroupId kGroup{5};
constexpr RoundId kFirst{1};

void Begin(ScriptedCoordinator& c) {
  c.Welcome();
  c.Prepare();
  c.Form(kGroup, {});
}

// No coordinator answers for a while; every dial fails.
void StayAway(ScriptedCoordinator& c, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    c.LoseStream();
    c.Pass(absl::Seconds(3));
  }
}

TEST(MachineTermTest, TrainsOnWhileTheCoordinatorIsAwayAndSaysReadyInTheNewTerm) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  c.Forget();
  StayAway(c, 5);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  EXPECT_EQ(c.Count<LeaveGroup>(), 0);
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst)});
  StayAway(c, 5);
  const auto* hello = c.LastSaid<Hello>();
  ASSERT_TRUE(hello->returning->order.has_value());
  EXPECT_EQ(hello->returning->order->round, kFirst);
  EXPECT_TRUE(hello->returning->order->done);
  EXPECT_EQ(c.LastSaid<Ready>(), nullptr);
  c.Forget();
  c.set_term(Term{2});
  Welcome welcome;  // Names no group: the next attempt has a new one.
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  ASSERT_NE(c.LastSaid<Ready>(), nullptr);
  EXPECT_EQ(c.said().back().term, Term{2});
  EXPECT_EQ(c.Count<LeaveGroup>(), 1);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  EXPECT_EQ(c.machine().duties().order_round(), kFirst);
}

TEST(MachineTermTest, GoesOnInTheGroupOfAParallelRound) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kParallel));
  StayAway(c, 3);
  c.Forget();
  c.set_term(Term{2});
  Welcome welcome;
  welcome.assembly = kGroup;
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<LeaveGroup>(), 0);
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst, 55)});
  EXPECT_NE(c.LastSaid<Ready>(), nullptr);
}

TEST(MachineTermTest, TakesALocalOrderThatItNeverGotThoughItsGroupIsOver) {
  ScriptedCoordinator c;
  Begin(c);
  StayAway(c, 1);
  c.set_term(Term{2});
  c.Welcome({});  // It leaves the group.
  c.Forget();
  c.Hear(ScriptedCoordinator::MakeOrder({kGroup.value - 1}, kFirst, Mode::kLocal));
  EXPECT_EQ(c.Count<Train>(), 0);  // Of a group before its newest.
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kParallel));
  EXPECT_EQ(c.Count<Train>(), 0);  // Cannot be done alone.
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  EXPECT_EQ(c.Count<Train>(), 1);
}

TEST(MachineTermTest, AnOrderWhoseRatesAreNotAllThereIsNotInHand) {
  ScriptedCoordinator c;
  Begin(c);
  Order order = ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal);
  order.rates.resize(2);
  c.Hear(order);
  c.LoseStream();
  EXPECT_FALSE(c.LastSaid<Hello>()->returning->order.has_value());
  Welcome welcome;
  welcome.assembly = kGroup;
  c.Welcome(welcome);
  c.Hear(order);
  c.Hear(Rates{.group = kGroup, .round = kFirst, .first = 2, .values = {0.5, 0.5}});
  EXPECT_EQ(c.Count<Train>(), 1);
}

// Rule 7: a new term knows of moments that are not finite only from Hello.
TEST(MachineTermTest, SaysThatTheMomentsItHoldsAreNotFiniteUntilAGroupHasHealedThem) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst)});
  StayAway(c, 1);
  EXPECT_TRUE(c.LastSaid<Hello>()->returning->finite);
  Welcome welcome;
  welcome.assembly = kGroup;
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  c.Hear(ScriptedCoordinator::MakeReduce(kGroup, kFirst, 1));
  Reduced reduced = ScriptedCoordinator::MakeReduced(kGroup, kFirst, 1, 77);
  reduced.finite = false;
  c.Happen(ReduceDone{reduced});
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  StayAway(c, 1);
  EXPECT_EQ(c.LastSaid<Hello>()->returning->round, kFirst);
  EXPECT_FALSE(c.LastSaid<Hello>()->returning->finite);
  c.Welcome(welcome);
  Assemble assemble;
  assemble.purpose = Purpose::kJoin;
  assemble.round = kFirst;
  assemble.members = ScriptedCoordinator::Members(StateNeed::kMoments);
  c.Form(kGroup.Next(), assemble);
  StayAway(c, 1);
  EXPECT_TRUE(c.LastSaid<Hello>()->returning->finite);
}

TEST(MachineTermTest, AnOrderDroppedAfterStepsThatWereNotFiniteLeavesItsMoments) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  Ready ready = ScriptedCoordinator::MakeReady(kGroup, kFirst);
  ready.finite = false;
  c.Happen(StepsDone{ready});
  StayAway(c, 1);
  Welcome welcome;
  welcome.assembly = kGroup;
  welcome.order_fate = OrderFate::kWithdrawn;
  c.Welcome(welcome);
  StayAway(c, 1);
  EXPECT_FALSE(c.LastSaid<Hello>()->returning->order.has_value());
  EXPECT_FALSE(c.LastSaid<Hello>()->returning->finite);
}

TEST(MachineTermTest, SaysThatItHoldsTheInitialState) {
  ScriptedCoordinator c;
  Begin(c);
  c.LoseStream();
  const Returning returning = *c.LastSaid<Hello>()->returning;
  EXPECT_EQ(returning.round, RoundId{});
  EXPECT_EQ(returning.state_hash, c.machine().duties().held_hash());
  EXPECT_NE(returning.state_hash, 0u);
}

// By which a coordinator sees that its journal is an old copy.
TEST(MachineTermTest, SaysTheLargestNumbersThatItWasGiven) {
  ScriptedCoordinator c;
  Welcome welcome;
  welcome.life = 77;
  c.Welcome(welcome);
  c.Prepare();
  StayAway(c, 1);
  EXPECT_EQ(c.LastSaid<Hello>()->returning->seen.term, Term{1});
  EXPECT_EQ(c.LastSaid<Hello>()->returning->seen.life, 77u);
  EXPECT_EQ(c.LastSaid<Hello>()->returning->seen.group, GroupId{});
  c.set_term(Term{4});
  welcome.life = 78;
  c.Welcome(welcome);
  c.Form(kGroup, {});
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, {9}, Mode::kLocal));
  StayAway(c, 1);
  const Seen& seen = c.LastSaid<Hello>()->returning->seen;
  EXPECT_EQ(seen.term, Term{4});
  EXPECT_EQ(seen.life, 78u);
  EXPECT_EQ(seen.group, kGroup);
  EXPECT_EQ(seen.round, RoundId{9});
}

// A journal's old copy gives the numbers of groups again: only larger ones are heard.
TEST(MachineTermTest, AnAssemblyUnderANumberThatItHasSeenIsNotForIt) {
  ScriptedCoordinator c;
  Begin(c);
  StayAway(c, 1);
  c.set_term(Term{2});
  c.Welcome({});
  c.Forget();
  Assemble assemble;
  assemble.group = kGroup;
  assemble.members = ScriptedCoordinator::Members(StateNeed::kAll);
  c.Hear(assemble);
  EXPECT_EQ(c.Count<Listen>(), 0);
  assemble.group = kGroup.Next();
  c.Hear(assemble);
  EXPECT_EQ(c.Count<Listen>(), 1);
}

}  // namespace
}  // namespace rondo::worker
