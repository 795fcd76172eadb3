// Random events in every state: the machine never crashes, and keeps what the rules promise.
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/mix64.h"
#include "worker/core/machine.h"
#include "worker/core/scripted_coordinator.h"

namespace rondo::worker {
namespace {

// Draws events from a small world, so that they often fit together.
class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed) {}

  Event Draw(uint64_t dial) {
    switch (random_.Below(14)) {
      case 0:
        return StreamLost{dial, ""};
      case 1:
        return TimerFired{};
      case 2:
        return HeartbeatDue{};
      case 3:
        return PrepareDone{};
      case 4:
        return EndpointReady{Endpoint{Group(), "b"}};
      case 5:
        return GroupFormed{Formed{.group = Group(), .state_hash = Hash()}};
      case 6:
        return GroupFailed{ScriptedCoordinator::MakeFailed(Group())};
      case 7:
        return StepsDone{ScriptedCoordinator::MakeReady(Group(), Round(), Hash())};
      case 8:
        return StepsFailed{ScriptedCoordinator::MakeFailed(Group(), Round())};
      case 9:
        return ReduceDone{ScriptedCoordinator::MakeReduced(Group(), Round(), Attempt(), Hash())};
      case 10:
        return ReduceFailed{ScriptedCoordinator::MakeFailed(Group(), Round(), Attempt())};
      default:
        return Received{dial, CoordinatorMessage{kTestJob, Term{1 + random_.Below(2)}, Body()}};
    }
  }
  absl::Duration Pause() { return absl::Milliseconds(static_cast<int64_t>(random_.Below(300))); }

 private:
  GroupId Group() { return {1 + random_.Below(4)}; }
  RoundId Round() { return {1 + random_.Below(3)}; }
  uint32_t Attempt() { return static_cast<uint32_t>(random_.Below(3)); }
  uint64_t Hash() { return 70 + random_.Below(2); }

  CoordinatorBody Body() {
    switch (random_.Below(11)) {
      case 0:
      case 1: {
        Welcome welcome;
        welcome.assembly = Group();
        welcome.attempt = Attempt();
        welcome.order_fate = static_cast<OrderFate>(random_.Below(3));
        welcome.fates = {{Round(), Group(), Attempt(), static_cast<Fate>(random_.Below(3))}};
        return welcome;
      }
      case 2:
      case 3: {
        Assemble assemble;
        assemble.purpose = static_cast<Purpose>(random_.Below(4));
        assemble.group = Group();
        assemble.round = {random_.Below(3)};
        assemble.members = ScriptedCoordinator::Members(static_cast<StateNeed>(random_.Below(8)));
        return assemble;
      }
      case 4:
        return Mesh{Group(), {"a", "b", "c"}, "0123456789abcdef"};
      case 5:
      case 6:
        return ScriptedCoordinator::MakeOrder(Group(), Round(),
                                              random_.Below(2) ? Mode::kLocal : Mode::kParallel);
      case 7:
        return ScriptedCoordinator::MakeReduce(Group(), Round(), Attempt());
      case 8:
        return Commit{Group(), Round(), Attempt(), Hash(), 14};
      case 9:
        return Abort{Group(), Round(), Attempt(), ""};
      default:
        return EvaluateNow{Group(), Round()};
    }
  }

  SplitMix64 random_;
};

// What the runtime has staged, as the commands and events so far say.
class StagingModel {
 public:
  void See(const Event& event, const std::vector<Command>& commands, Machine& machine) {
    if (const auto* done = std::get_if<ReduceDone>(&event)) {
      staged_ = {done->reduced.round, done->reduced.group, done->reduced.attempt};
    }
    if (const auto* done = std::get_if<StepsDone>(&event)) {
      staged_ = {done->ready.round, done->ready.group, 0};
    }
    for (const Command& command : commands) {
      if (const auto* apply = std::get_if<ApplyStaged>(&command)) {
        ASSERT_TRUE(Has(apply->round, apply->group, apply->attempt))
            << "applies what is not staged";
        ASSERT_GT(apply->round, applied_) << "applies a round twice or backwards";
        ASSERT_TRUE(WasDecided(event)) << "applies without Commit";
        applied_ = apply->round;
      }
    }
    applied_ = std::min(applied_, machine.duties().held_round());
  }

 private:
  struct Id {
    RoundId round;
    GroupId group;
    uint32_t attempt = 0;
  };
  bool Has(RoundId round, GroupId group, uint32_t attempt) const {
    return staged_.round == round && staged_.group == group && staged_.attempt == attempt;
  }
  static bool WasDecided(const Event& event) {
    const auto* received = std::get_if<Received>(&event);
    return received != nullptr && (std::holds_alternative<Commit>(received->message.body) ||
                                   std::holds_alternative<Welcome>(received->message.body));
  }

  Id staged_;
  RoundId applied_;
};

TEST(MachinePropertyTest, NoHistoryOfEventsBreaksItsPromises) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ScriptedCoordinator c;
    Chaos chaos(seed);
    StagingModel model;
    c.Welcome();
    c.Prepare();
    for (int i = 0; i < 120; ++i) {
      const Event event = chaos.Draw(c.dial());
      c.Forget();
      c.Happen(event);
      model.See(event, c.commands(), c.machine());
      if (testing::Test::HasFatalFailure()) return;
      for (const WorkerMessage& said : c.said()) {
        if (std::holds_alternative<Hello>(said.body)) continue;
        ASSERT_EQ(said.job_id, kTestJob);
        ASSERT_EQ(said.term, c.machine().term());
      }
      if (c.machine().exited()) break;
      c.Pass(chaos.Pause());
    }
  }
}

}  // namespace
}  // namespace rondo::worker
