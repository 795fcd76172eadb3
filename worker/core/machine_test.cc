#include "worker/core/machine.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rondo::worker
