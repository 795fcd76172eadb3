// A parallel round whose step fails at some members (rules 18 and 19): after the repair
// all have the bits of the undisturbed run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/optimizer.h"
#include "worker/runtime/test_workers.h"

namespace rondo::worker {
namespace {

constexpr uint64_t kLength = 5;

// All bits of a member's state that training goes on from.
struct State {
  std::vector<float> parameters;
  std::vector<float> velocity;
  int64_t steps = 0;
  uint64_t hash = 0;
  std::vector<float> residual;
  bool operator==(const State&) const = default;
};

// Of each member.
std::vector<State> StatesOf(TestWorkers& workers, const std::vector<Ready>& ready) {
  std::vector<State> states;
  for (int rank = 0; rank < workers.size(); ++rank) {
    TestWorker& worker = workers[rank];
    states.push_back({worker.parameters(), worker.velocity(), worker.optimizer().step_count(),
                      ready[rank].reduced.state_hash, workers.ResidualOf(rank)});
  }
  return states;
}

struct Case {
  const char* name;
  double clip_norm = 0;
  Collective collective = Collective::kRing;
};

class RepairTest : public testing::TestWithParam<Case> {
 protected:
  QuadraticOptions Options() const {
    QuadraticOptions options;
    options.optimizer.momentum = 0.5;
    options.optimizer.clip_norm = GetParam().clip_norm;
    return options;
  }

  struct Group : TestWorkers {
    Group(const std::vector<QuadraticOptions>& options, Collective used) : TestWorkers(options) {
      collective = used;
    }
  };
  Group Members(int members) const {
    return Group(std::vector<QuadraticOptions>(members, Options()), GetParam().collective);
  }

  std::vector<State> Undisturbed(int members) const {
    Group workers = Members(members);
    workers.Start();
    return StatesOf(workers, workers.Train(1, 1, Mode::kParallel, 0, kLength));
  }

  // Where a step's last bytes come.
  static rondo::Phase StepPhase() {
    return GetParam().collective == Collective::kRing ? rondo::Phase::kGradients
                                                      : rondo::Phase::kSparseGather;
  }

  // All train; `failing` lack the result of `step`, which the others have. What each says.
  static std::vector<Failed> TrainWithFailure(TestWorkers& workers, std::vector<int> failing,
                                              int64_t step, rondo::Phase phase = StepPhase()) {
    for (const int i : failing) workers[i].groups().fails_here = true;
    for (int rank = 0; rank < workers.size(); ++rank) {
      workers[rank].groups().fails_at = step;
      workers[rank].groups().fails_in = phase;
    }
    workers.Start();
    for (int rank = 0; rank < workers.size(); ++rank) workers[rank].groups().fails_at.reset();
    for (int rank = 0; rank < workers.size(); ++rank) {
      workers[rank].Do(Train{workers.MakeOrder(1, 1, Mode::kParallel, 0, kLength, rank)});
    }
    std::vector<Failed> failed(static_cast<size_t>(workers.size()));
    for (const int i : failing) failed[i] = workers[i].Await<StepsFailed>().failed;
    for (int rank = 0; rank < workers.size(); ++rank) {
      if (std::find(failing.begin(), failing.end(), rank) != failing.end()) continue;
      workers[rank].Do(LeaveGroup{GroupId{1}});  // As Abort makes it: it waits for the others.
      failed[rank] = workers[rank].Await<StepsFailed>().failed;
    }
    return failed;
  }

  static Assemble Repair(const TestWorkers& workers, uint64_t group, uint64_t step,
                         std::vector<StateNeed> needs, uint32_t giver) {
    Assemble assemble = workers.MakeAssemble(group, Purpose::kRepair, std::move(needs));
    assemble.step = step;
    assemble.giver = giver;
    return assemble;
  }
};

constexpr StateNeed kHolds = StateNeed::kHolds;
constexpr StateNeed kStep = StateNeed::kStep;

TEST_P(RepairTest, AMemberAheadGivesItsResultAndAllEndWithTheBitsOfTheUndisturbedRun) {
  Group workers = Members(3);
  const std::vector<Failed> failed = TrainWithFailure(workers, {1}, 2);
  EXPECT_EQ(failed[0].step, 3u);
  EXPECT_EQ(failed[1].step, 2u);
  EXPECT_EQ(failed[1].cause, FailureCause::kPeer);
  EXPECT_EQ(failed[2].step, 3u);
  EXPECT_GT(failed[0].loss_sum, failed[1].loss_sum);
  const std::vector<Formed> formed =
      workers.Form(Repair(workers, 2, 2, {kHolds, kStep, kHolds}, 0));
  for (const Formed& each : formed) {
    EXPECT_EQ(each.step, 3u);
    EXPECT_EQ(each.state_hash, formed[0].state_hash);
  }
  EXPECT_GT(formed[1].transfer_bytes, 0u);
  const std::vector<Ready> ready = workers.Train(2, 1, Mode::kParallel, 3, kLength - 3);
  EXPECT_EQ(StatesOf(workers, ready), Undisturbed(3));
}

// What it is given leaves its samples of that step out.
TEST_P(RepairTest, AMemberSaysThatItIsNotFiniteInAStepThatFails) {
  std::vector<QuadraticOptions> options(3, Options());
  options[1].spoiled_step = 2;
  Group workers(options, GetParam().collective);
  const std::vector<Failed> failed = TrainWithFailure(workers, {1}, 2);
  EXPECT_TRUE(failed[0].finite);
  EXPECT_FALSE(failed[1].finite);
}

TEST_P(RepairTest, AReceivedResultCanBeGivenOn) {
  Group workers = Members(3);
  TrainWithFailure(workers, {1, 2}, 2);
  // The first repair reaches only worker 1. Then worker 0 dies.
  Assemble first = Repair(workers, 2, 2, {kHolds, kStep, kStep}, 0);
  first.members.pop_back();
  EXPECT_EQ(workers.FormOf(first, {0, 1})[1].step, 3u);
  Assemble second = Repair(workers, 3, 2, {kHolds, kHolds, kStep}, 0);
  second.members.erase(second.members.begin());
  const std::vector<Formed> formed = workers.FormOf(second, {1, 2});
  EXPECT_EQ(formed[1].step, 3u);
  EXPECT_EQ(formed[0].state_hash, formed[1].state_hash);
  workers[0].Settle();
  for (int rank = 1; rank < 3; ++rank) {
    workers[rank].Settle();
    EXPECT_EQ(workers[rank].parameters(), workers[0].parameters());
    EXPECT_EQ(workers[rank].velocity(), workers[0].velocity());
  }
}

TEST_P(RepairTest, AStepIsFinishedOnceHoweverOftenItsResultComes) {
  Group workers = Members(3);
  TrainWithFailure(workers, {1}, 2);
  workers.Form(Repair(workers, 2, 2, {kHolds, kStep, kHolds}, 0));
  const std::vector<Formed> again = workers.Form(Repair(workers, 3, 2, {kHolds, kStep, kHolds}, 2));
  EXPECT_EQ(again[1].step, 3u);
  const std::vector<Ready> ready = workers.Train(3, 1, Mode::kParallel, 3, kLength - 3);
  EXPECT_EQ(StatesOf(workers, ready), Undisturbed(3));
}

TEST_P(RepairTest, AFailedAveragingOfBuffersIsRepeatedByAnOrderWithoutSteps) {  // Rule 19.
  Group workers = Members(3);
  const std::vector<Failed> failed =
      TrainWithFailure(workers, {0}, kLength, rondo::Phase::kBuffers);
  for (const Failed& each : failed) EXPECT_EQ(each.step, kLength);
  const std::vector<Formed> formed =
      workers.Form(Repair(workers, 2, kLength, {kHolds, kHolds, kHolds}, 0));
  for (const Formed& each : formed) EXPECT_EQ(each.step, kLength);
  const std::vector<Ready> ready = workers.Train(2, 1, Mode::kParallel, kLength, 0);
  EXPECT_EQ(StatesOf(workers, ready), Undisturbed(3));
}

TEST_P(RepairTest, SurvivorsGoOnWithoutTheOneThatDied) {
  Group workers = Members(3);
  TrainWithFailure(workers, {1, 2}, 3);
  Assemble assemble = Repair(workers, 2, 3, {kHolds, kHolds, kHolds}, 0);
  assemble.members.erase(assemble.members.begin());
  EXPECT_EQ(workers.FormOf(assemble, {1, 2})[0].step, 3u);
  for (const int rank : {1, 2}) {
    Order order = workers.MakeOrder(2, 1, Mode::kParallel, 3, 2, rank, 3);
    order.weight_sum = 2 * order.weight;
    workers[rank].Do(Train{order});
  }
  const Ready b = workers[1].Await<StepsDone>().ready;
  const Ready c = workers[2].Await<StepsDone>().ready;
  EXPECT_EQ(b.reduced.state_hash, c.reduced.state_hash);
  EXPECT_EQ(workers[1].parameters(), workers[2].parameters());
}

TEST_P(RepairTest, AnOrderThatBeginsElsewhereThanTheMemberStandsFails) {
  Group workers = Members(2);
  TrainWithFailure(workers, {1}, 2);
  workers.Form(Repair(workers, 2, 2, {kHolds, kHolds}, 0));
  workers[0].Do(Train{workers.MakeOrder(2, 1, Mode::kParallel, 2, 3, 0)});
  const Failed failed = workers[0].Await<StepsFailed>().failed;
  EXPECT_EQ(failed.step, 3u);
  EXPECT_EQ(failed.cause, FailureCause::kInternal);
}

INSTANTIATE_TEST_SUITE_P(Cases, RepairTest,
                         testing::Values(Case{"Ring"}, Case{"RingClipped", 0.05},
                                         Case{"Sparse", 0, Collective::kSparse},
                                         Case{"SparseClipped", 0.05, Collective::kSparse},
                                         Case{"TopkGather", 0, Collective::kTopkGather}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rondo::worker
