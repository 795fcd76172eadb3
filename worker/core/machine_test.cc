#include "worker/core/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/core/scripted_coordinator.h"

namespace rondo::worker {
namespace {

constexpr GroupId kGroup{5};
constexpr RoundId kFirst{1};

// Welcomed, prepared, and formed with the initial state.
void Begin(ScriptedCoordinator& c) {
  c.Welcome();
  c.Prepare();
  c.Form(kGroup, {});
}
void TrainLocalRound(ScriptedCoordinator& c, RoundId round, GroupId group = kGroup) {
  c.Hear(ScriptedCoordinator::MakeOrder(group, round, Mode::kLocal));
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(group, round)});
}
void ReduceRound(ScriptedCoordinator& c, RoundId round, uint32_t attempt, uint64_t hash) {
  c.Hear(ScriptedCoordinator::MakeReduce(kGroup, round, attempt));
  c.Happen(ReduceDone{ScriptedCoordinator::MakeReduced(kGroup, round, attempt, hash)});
}

TEST(MachineTest, SaysHelloFirstAndPreparesOnceWelcomed) {
  ScriptedCoordinator c;
  ASSERT_EQ(c.said().size(), 1u);
  const auto* hello = c.LastSaid<Hello>();
  ASSERT_NE(hello, nullptr);
  EXPECT_EQ(hello->dial, 1u);
  EXPECT_FALSE(hello->returning.has_value());
  c.Welcome();
  EXPECT_EQ(c.Count<Prepare>(), 1);
  c.Prepare();
  EXPECT_NE(c.LastSaid<Prepared>(), nullptr);
  EXPECT_EQ(c.said().back().job_id, kTestJob);
  EXPECT_EQ(c.said().back().term, Term{1});
}

TEST(MachineTest, CarriesAnUndisturbedLocalRoundToItsCommit) {
  ScriptedCoordinator c;
  Begin(c);
  ASSERT_NE(c.LastSaid<Formed>(), nullptr);
  EXPECT_EQ(c.LastCommand<FormGroup>()->rank, 1u);
  TrainLocalRound(c, kFirst);
  EXPECT_EQ(c.Count<Train>(), 1);
  EXPECT_NE(c.LastSaid<Ready>(), nullptr);
  ReduceRound(c, kFirst, 1, 77);
  EXPECT_NE(c.LastSaid<Reduced>(), nullptr);
  EXPECT_EQ(c.Count<ApplyStaged>(), 0);
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
  EXPECT_EQ(c.machine().duties().held_round(), kFirst);
  EXPECT_EQ(c.machine().duties().held_hash(), 77u);
  c.Hear(EvaluateNow{kGroup, kFirst});
  EXPECT_EQ(c.Count<Evaluate>(), 1);
  c.Happen(EvaluateDone{Evaluated{.group = kGroup, .round = kFirst}});
  EXPECT_NE(c.LastSaid<Evaluated>(), nullptr);
  c.Hear(SaveNow{kGroup, kFirst, 14, {StateFile::kLocal}});
  c.Happen(SaveDone{Saved{kGroup, kFirst, 14, {}}});
  EXPECT_NE(c.LastSaid<Saved>(), nullptr);
  c.Hear(Goodbye{GoodbyeReason::kDone, "done", 0});
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, 0);
}

TEST(MachineTest, TakesReadyAsReducedInAParallelRound) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kParallel));
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst, 55)});
  c.Hear(Commit{kGroup, kFirst, 0, 55, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
  EXPECT_EQ(c.machine().duties().held_hash(), 55u);
}

TEST(MachineTest, DuplicatesChangeNothing) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.Forget();
  c.Welcome();
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  c.Hear(ScriptedCoordinator::MakeReduce(kGroup, kFirst, 1));
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst)});
  EXPECT_TRUE(c.commands().empty());
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  EXPECT_EQ(c.commands().size(), 1u);
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
}

TEST(MachineTest, DropsMessagesOfOtherJobsTermsAndStreams) {
  ScriptedCoordinator c;
  Begin(c);
  c.Forget();
  const Order order = ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal);
  c.HearFrom("another", Term{1}, order);
  c.HearFrom(kTestJob, Term{9}, order);
  c.Happen(Received{c.dial() + 1, CoordinatorMessage{kTestJob, Term{1}, order}});
  c.Happen(StreamLost{c.dial() + 1, ""});
  EXPECT_TRUE(c.commands().empty());
}

TEST(MachineTest, AStreamOfAnOlderTermIsLeft) {
  ScriptedCoordinator c;
  c.set_term(Term{4});
  Begin(c);
  c.LoseStream();
  c.Pass(absl::Seconds(3));
  c.Forget();
  c.set_term(Term{3});
  c.Welcome();
  EXPECT_EQ(c.Count<CloseStream>(), 1);
  EXPECT_FALSE(c.machine().welcomed());
}

TEST(MachineTest, SaysEverythingUnansweredAgainAfterEachWelcome) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.LoseStream();  // Dials at once.
  const auto* hello = c.LastSaid<Hello>();
  ASSERT_TRUE(hello->returning.has_value());
  EXPECT_EQ(hello->dial, 2u);
  ASSERT_TRUE(hello->returning->order.has_value());
  EXPECT_TRUE(hello->returning->order->done);
  ASSERT_EQ(hello->returning->staged.size(), 1u);
  EXPECT_EQ(hello->returning->staged[0].state_hash, 77u);
  c.Forget();
  c.set_term(Term{2});
  Welcome welcome;
  welcome.assembly = kGroup;
  welcome.attempt = 1;
  welcome.order_fate = OrderFate::kRenewed;
  welcome.fates = {{kFirst, kGroup, 1, Fate::kOpen}};
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<worker::Prepare>(), 0);
  EXPECT_NE(c.LastSaid<Prepared>(), nullptr);
  EXPECT_NE(c.LastSaid<Formed>(), nullptr);
  EXPECT_NE(c.LastSaid<Ready>(), nullptr);
  EXPECT_NE(c.LastSaid<Reduced>(), nullptr);
  for (const WorkerMessage& said : c.said()) EXPECT_EQ(said.term, Term{2});
}

TEST(MachineTest, SaysThatALocalStepFailedAgainAfterEachWelcome) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  c.Happen(StepsFailed{ScriptedCoordinator::MakeFailed(kGroup, kFirst)});
  ASSERT_NE(c.LastSaid<Failed>(), nullptr);
  EXPECT_EQ(c.LastSaid<Failed>()->round, kFirst);
  EXPECT_EQ(c.LastSaid<Failed>()->attempt, 0u);
  c.LoseStream();
  c.Forget();
  Welcome welcome;
  welcome.assembly = kGroup;
  welcome.order_fate = OrderFate::kRenewed;
  c.Welcome(welcome);
  EXPECT_NE(c.LastSaid<Failed>(), nullptr);
}

TEST(MachineTest, AppliesAStagedResultThatWasCommittedWhileItWasAway) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.LoseStream();
  c.Forget();
  Welcome welcome;
  welcome.fates = {{kFirst, kGroup, 1, Fate::kCommitted}};
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<ApplyStaged>(), 1);
  EXPECT_EQ(c.Count<LeaveGroup>(), 1);
  EXPECT_EQ(c.machine().duties().held_round(), kFirst);
}

TEST(MachineTest, DropsAStagedResultThatWasAborted) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.Forget();
  c.Hear(Abort{kGroup, kFirst, 1, "no majority"});
  EXPECT_EQ(c.Count<DropStaged>(), 1);
  EXPECT_EQ(c.Count<LeaveGroup>(), 1);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 0);
}

TEST(MachineTest, ARetryKeepsTheOrderAndReducesItInTheNewGroup) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  c.Hear(ScriptedCoordinator::MakeReduce(kGroup, kFirst, 1));
  c.Happen(ReduceFailed{ScriptedCoordinator::MakeFailed(kGroup, kFirst, 1)});
  EXPECT_NE(c.LastSaid<Failed>(), nullptr);
  c.Forget();
  Assemble retry;
  retry.purpose = Purpose::kRetry;
  c.Form(GroupId{6}, retry);
  EXPECT_EQ(c.Count<DropOrder>(), 0);
  c.Hear(ScriptedCoordinator::MakeReduce(GroupId{6}, kFirst, 2));
  EXPECT_EQ(c.Count<ReduceState>(), 1);
}

TEST(MachineTest, TheOddOneOutDropsItsState) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 78);
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  EXPECT_EQ(c.Count<ApplyStaged>(), 0);
  EXPECT_EQ(c.Count<DropStaged>(), 1);
  EXPECT_EQ(c.Count<DropOrder>(), 1);
}

TEST(MachineTest, TheOddOneOutComesBackAsAJoiner) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  EXPECT_EQ(c.machine().duties().held_round(), kFirst);
  const RoundId second = kFirst.Next();
  TrainLocalRound(c, second);
  ReduceRound(c, second, 1, 78);
  c.Hear(Commit{kGroup, second, 1, 79, 18});
  EXPECT_EQ(c.machine().duties().held_round(), RoundId{});
}

TEST(MachineTest, WhoTakesAStateHoldsNoneUntilItIsWhole) {  // S22
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  ReduceRound(c, kFirst, 1, 77);
  c.Hear(Commit{kGroup, kFirst, 1, 77, 14});
  Assemble join;
  join.purpose = Purpose::kJoin;
  join.group = kGroup.Next();
  join.round = kFirst;
  join.members = ScriptedCoordinator::Members(StateNeed::kValues);
  c.Hear(join);
  c.Happen(EndpointReady{Endpoint{join.group, "here"}});
  EXPECT_EQ(c.machine().duties().held_round(), kFirst);
  c.Hear(Mesh{join.group, {"a", "here", "c"}, "0123456789abcdef"});
  EXPECT_EQ(c.machine().duties().held_round(), RoundId{});
  c.Happen(GroupFailed{ScriptedCoordinator::MakeFailed(join.group)});
  EXPECT_EQ(c.machine().duties().held_round(), RoundId{});
}

TEST(MachineTest, AWithdrawnOrderIsDropped) {
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal));
  c.LoseStream();
  Welcome welcome;
  welcome.order_fate = OrderFate::kWithdrawn;
  c.Welcome(welcome);
  EXPECT_EQ(c.Count<DropOrder>(), 1);
  c.Forget();
  c.Happen(StepsDone{ScriptedCoordinator::MakeReady(kGroup, kFirst)});
  EXPECT_TRUE(c.said().empty());
}

TEST(MachineTest, TrainsOnceAllRatesAreThere) {
  ScriptedCoordinator c;
  Begin(c);
  Order order = ScriptedCoordinator::MakeOrder(kGroup, kFirst, Mode::kLocal, 6);
  order.rates.resize(2);
  c.Hear(order);
  c.Hear(Rates{kGroup, kFirst, 4, {0.5, 0.5}});  // A hole before it.
  c.Hear(Rates{kGroup, kFirst, 1, {0.9, 0.3}});  // One of them twice.
  EXPECT_EQ(c.Count<Train>(), 0);
  c.Hear(Rates{kGroup, kFirst, 3, {0.4, 0.5, 0.6}});
  ASSERT_EQ(c.Count<Train>(), 1);
  EXPECT_EQ(c.LastCommand<Train>()->order.rates,
            (std::vector<double>{0.5, 0.5, 0.3, 0.4, 0.5, 0.6}));
}

TEST(MachineTest, AnAbortedCollectiveThatDoesNotEndEndsTheProcess) {
  ScriptedCoordinator c;
  Begin(c);
  TrainLocalRound(c, kFirst);
  c.Hear(ScriptedCoordinator::MakeReduce(kGroup, kFirst, 1));
  c.Hear(Abort{kGroup, kFirst, 1, "a contributor was lost"});
  EXPECT_EQ(c.wake_at(), c.now() + absl::Seconds(10));
  c.Pass(absl::Seconds(10));
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitInternal);
}

TEST(MachineTest, RedialsWithPausesThatGrowToTwoSeconds) {
  ScriptedCoordinator c;
  absl::Duration longest;
  for (int i = 0; i < 12; ++i) {
    c.LoseStream();
    if (c.wake_at() == absl::InfiniteFuture()) continue;
    const absl::Duration pause = c.wake_at() - c.now();
    EXPECT_LE(pause, absl::Seconds(5));
    longest = std::max(longest, pause);
    c.Pass(pause);
  }
  EXPECT_EQ(c.LastSaid<Hello>()->dial, c.dial());
  EXPECT_GE(c.dial(), 10u);
}

TEST(MachineTest, DialsAgainWhenHelloIsNotAnswered) {
  ScriptedCoordinator c;
  c.Pass(absl::Seconds(5));
  EXPECT_EQ(c.Count<CloseStream>(), 1);
  c.Pass(absl::Seconds(3));
  EXPECT_EQ(c.dial(), 2u);
}

TEST(MachineTest, WaitPutsTheNextDialOff) {
  ScriptedCoordinator c;
  c.Hear(Wait{WaitReason::kNameInUse, "in use", 7});
  EXPECT_EQ(c.wake_at(), c.now() + absl::Seconds(7));
  c.Pass(absl::Seconds(7));
  EXPECT_EQ(c.dial(), 2u);
}

struct Ending {
  const char* name;
  Event event;
  int code;
};

TEST(MachineTest, ExitCodesFollowTheReason) {
  const auto heard = [](CoordinatorBody body) {
    return Received{1, CoordinatorMessage{kTestJob, Term{1}, std::move(body)}};
  };
  const Ending kEndings[] = {
      {"refused", heard(Refuse{RefuseReason::kFiles, "no"}), kExitRefused},
      {"stopped by a fault", heard(Goodbye{GoodbyeReason::kFault, "", 1}), 1},
      {"left", heard(Goodbye{GoodbyeReason::kLeft, "", 5}), kExitLeft},
      {"unreadable", Malformed{1, "what?"}, kExitRefused},
      {"broken", RuntimeBroken{"no memory"}, kExitInternal},
      {"told to leave before a Welcome", LeaveRequested{absl::Seconds(9), 0, ""}, kExitLeft},
  };
  for (const Ending& ending : kEndings) {
    ScriptedCoordinator c;
    c.Happen(ending.event);
    ASSERT_NE(c.LastCommand<Exit>(), nullptr) << ending.name;
    EXPECT_EQ(c.LastCommand<Exit>()->code, ending.code) << ending.name;
    c.Forget();
    c.Happen(ending.event);
    EXPECT_TRUE(c.commands().empty());
  }
}

TEST(MachineTest, GivesUpWhenTheCoordinatorIsAwayForTooLong) {
  ScriptedCoordinator c(/*away_seconds=*/20);
  for (int i = 0; i < 9; ++i) {
    c.Pass(absl::Seconds(2));
    c.LoseStream();
  }
  EXPECT_EQ(c.LastCommand<Exit>(), nullptr);
  c.Pass(absl::Seconds(2));
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitCoordinatorAway);
}

}  // namespace
}  // namespace rondo::worker
