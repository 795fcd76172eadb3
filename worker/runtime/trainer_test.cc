#include "worker/runtime/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/runtime/test_workers.h"

namespace rondo::worker {
namespace {

std::vector<double> Equal(int members) { return std::vector<double>(members, 2.0); }

// All rounds of a job in one mode; the final parameters of rank 0.
std::vector<float> TrainWhole(TestWorkers& workers, Mode mode, uint64_t rounds, uint64_t length) {
  workers.Start();
  for (uint64_t round = 1; round <= rounds; ++round) {
    workers.Train(1, round, mode, (round - 1) * length, length);
    if (mode == Mode::kLocal) workers.ReduceAll(1, round, Equal(workers.size()));
    workers.Apply(1, round, mode == Mode::kLocal ? 1 : 0);
  }
  return workers[0].parameters();
}

TEST(TrainerTest, GivesTheInitialStateOfRankZeroToAll) {
  std::vector<QuadraticOptions> options(3);
  options[0].initial = 1.5f;
  TestWorkers workers(options);
  const std::vector<Formed> formed = workers.Start();
  EXPECT_EQ(formed[0].state_hash, formed[1].state_hash);
  EXPECT_EQ(formed[0].state_hash, formed[2].state_hash);
  EXPECT_EQ(formed[0].transfer_bytes, 0u);
  EXPECT_GT(formed[1].transfer_bytes, 0u);
  EXPECT_EQ(workers[2].parameters(), std::vector<float>(kWidth, 1.5f));
}

TEST(TrainerTest, LocalRoundsOfOneStepFollowParallelTraining) {
  QuadraticOptions options;
  options.optimizer.momentum = 0;
  for (const int members : {1, 2, 3, 4}) {
    TestWorkers local(members, options);
    TestWorkers parallel(members, options);
    const std::vector<float> a = TrainWhole(local, Mode::kLocal, 8, 1);
    const std::vector<float> b = TrainWhole(parallel, Mode::kParallel, 2, 4);
    for (int64_t d = 0; d < kWidth; ++d) EXPECT_NEAR(a[d], b[d], 1e-5) << members << " members";
  }
}

TEST(TrainerTest, MembersAgreeOnTheHashOfEveryRoundAndRepeatIt) {
  for (const Mode mode : {Mode::kLocal, Mode::kParallel}) {
    std::vector<uint64_t> first_run;
    for (int run = 0; run < 2; ++run) {
      TestWorkers workers(3, {});
      workers.Start();
      for (uint64_t round = 1; round <= 3; ++round) {
        const std::vector<Ready> ready = workers.Train(1, round, mode, (round - 1) * 4, 4);
        std::vector<uint64_t> hashes;
        if (mode == Mode::kLocal) {
          for (const Reduced& r : workers.ReduceAll(1, round, Equal(3))) {
            hashes.push_back(r.reduced.state_hash);
          }
        } else {
          for (const Ready& r : ready) hashes.push_back(r.reduced.state_hash);
        }
        EXPECT_EQ(hashes[0], hashes[1]);
        EXPECT_EQ(hashes[0], hashes[2]);
        workers.Apply(1, round, mode == Mode::kLocal ? 1 : 0);
        if (run == 0) {
          first_run.push_back(hashes[0]);
        } else {
          EXPECT_EQ(hashes[0], first_run[round - 1]);
        }
      }
      EXPECT_EQ(workers[0].parameters(), workers[2].parameters());
    }
  }
}

TEST(TrainerTest, ParametersChangeOnlyAtCommit) {
  TestWorkers workers(2, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 4);
  const std::vector<float> trained = workers[0].parameters();
  workers.ReduceAll(1, 1, Equal(2));
  EXPECT_EQ(workers[0].parameters(), trained);
  const std::vector<float> other = workers[1].parameters();
  workers.Apply(1, 1, 1);
  for (int64_t d = 0; d < kWidth; ++d) {
    EXPECT_FLOAT_EQ(workers[0].parameters()[d], (trained[d] + other[d]) / 2);
  }
}

TEST(TrainerTest, AFailedReduceLeavesTheWorkingStateForTheNextGroup) {
  TestWorkers workers(2, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 4);
  const std::vector<float> trained = workers[0].parameters();
  workers[1].Do(LeaveGroup{GroupId{1}});
  workers[0].Do(ReduceState{Reduce{{1}, {1}, 1, {{0, 2}, {1, 2}}}});
  const Failed failed = workers[0].Await<ReduceFailed>().failed;
  EXPECT_EQ(failed.attempt, 1u);
  EXPECT_EQ(failed.cause, FailureCause::kPeer);
  EXPECT_EQ(workers[0].parameters(), trained);
  const std::vector<Formed> formed = workers.Form(
      workers.MakeAssemble(2, Purpose::kRetry, {StateNeed::kHolds, StateNeed::kHolds}));
  EXPECT_EQ(formed[0].state_hash, formed[1].state_hash);
  const std::vector<Reduced> reduced = workers.ReduceAll(2, 1, Equal(2), 2);
  EXPECT_EQ(reduced[0].reduced.state_hash, reduced[1].reduced.state_hash);
}

TEST(TrainerTest, LeavingAGroupEndsAReduceThatWaitsForAPeer) {
  TestWorkers workers(2, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 1);
  workers[0].Do(ReduceState{Reduce{{1}, {1}, 1, {{0, 2}, {1, 2}}}});
  workers[0].Do(LeaveGroup{GroupId{1}});
  EXPECT_EQ(workers[0].Await<ReduceFailed>().failed.cause, FailureCause::kAborted);
}

TEST(TrainerTest, WeightsScaleEachContribution) {
  TestWorkers workers(3, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 2);
  std::vector<std::vector<float>> trained;
  for (int rank = 0; rank < 3; ++rank) trained.push_back(workers[rank].parameters());
  workers.ReduceAll(1, 1, {1, 2, 5});
  workers.Apply(1, 1, 1);
  for (int64_t d = 0; d < kWidth; ++d) {
    const float mean = (trained[0][d] + 2 * trained[1][d] + 5 * trained[2][d]) / 8;
    EXPECT_NEAR(workers[1].parameters()[d], mean, 1e-6);
  }
}

TEST(TrainerTest, AMemberThatIsNotFiniteIsLeftOutOfALocalMean) {
  std::vector<QuadraticOptions> options(3);
  options[1].spoiled_step = 1;
  TestWorkers workers(options);
  workers.Start();
  const std::vector<Ready> ready = workers.Train(1, 1, Mode::kLocal, 0, 3);
  EXPECT_TRUE(ready[0].finite);
  EXPECT_FALSE(ready[1].finite);
  const std::vector<float> a = workers[0].parameters();
  const std::vector<float> c = workers[2].parameters();
  const std::vector<Reduced> reduced = workers.ReduceAll(1, 1, {2, 0, 2});
  EXPECT_TRUE(reduced[0].finite);
  EXPECT_FALSE(reduced[1].finite);  // Its moments are spoiled.
  workers.Apply(1, 1, 1);
  for (int64_t d = 0; d < kWidth; ++d) {
    EXPECT_NEAR(workers[1].parameters()[d], (a[d] + c[d]) / 2, 1e-6);
  }
}

TEST(TrainerTest, AGradientThatIsNotFiniteIsLeftOutOfAParallelStep) {
  std::vector<QuadraticOptions> options(2);
  options[1].spoiled_step = 0;
  TestWorkers workers(options);
  workers.Start();
  const std::vector<Ready> ready = workers.Train(1, 1, Mode::kParallel, 0, 1);
  EXPECT_FALSE(ready[1].finite);
  EXPECT_EQ(ready[0].reduced.state_hash, ready[1].reduced.state_hash);
  for (const float w : workers[1].parameters()) EXPECT_TRUE(std::isfinite(w));
}

TEST(TrainerTest, AParallelStepWithoutAnyFiniteGradientFailsWithThatCause) {
  QuadraticOptions options;
  options.spoiled_step = 2;
  TestWorkers workers(2, options);
  workers.Start();
  for (int rank = 0; rank < 2; ++rank) {
    workers[rank].Do(Train{workers.MakeOrder(1, 1, Mode::kParallel, 0, 4, rank)});
  }
  for (int rank = 0; rank < 2; ++rank) {
    const Failed failed = workers[rank].Await<StepsFailed>().failed;
    EXPECT_EQ(failed.cause, FailureCause::kNoFactor);
    EXPECT_EQ(failed.step, 2u);
    EXPECT_FALSE(failed.has_result);
  }
}

// As DistributedDataParallel with find_unused_parameters: who has no gradient counts as zero.
TEST(TrainerTest, AParameterMovesOnAllMembersIfAnyOfThemHadAGradient) {  // S42
  std::vector<QuadraticOptions> options(2);
  for (QuadraticOptions& each : options) each.optimizer.weight_decay = 0.5;
  options[1].tail_used = false;
  TestWorkers both(2, options[0]);
  TestWorkers one(options);
  both.Start();
  one.Start();
  both.Train(1, 1, Mode::kParallel, 0, 1);
  const std::vector<Ready> ready = one.Train(1, 1, Mode::kParallel, 0, 1);
  EXPECT_EQ(ready[0].reduced.state_hash, ready[1].reduced.state_hash);
  EXPECT_EQ(one[0].parameters(), one[1].parameters());
  for (int64_t d = 0; d < kWidth; ++d) {
    if (d < kHead) {
      EXPECT_EQ(one[0].parameters()[d], both[0].parameters()[d]);
      continue;
    }
    // Rank 0 has samples 0 and 2 (interleaved with rank 1's).
    const double x = ((d * 11) % 101 + (2 * 37 + d * 11) % 101) / 101.0 / 2;
    EXPECT_NEAR(one[0].parameters()[d], 3 - 0.25 * ((3 - x) / 2 + 0.5 * 3), 1e-6);
  }
}

TEST(TrainerTest, AParameterWithoutGradientOnAnyMemberKeepsItsValueInParallelSteps) {
  QuadraticOptions options;
  options.optimizer.weight_decay = 0.5;
  options.tail_used = false;
  TestWorkers workers(2, options);
  workers.Start();
  workers.Train(1, 1, Mode::kParallel, 0, 3);
  for (int64_t d = 0; d < kWidth; ++d) EXPECT_EQ(workers[0].parameters()[d] == 3.0f, d >= kHead);
}

TEST(TrainerTest, AMemberThatIsNotFiniteHasNoSayInWhichParametersMove) {
  std::vector<QuadraticOptions> options(2);
  options[0].tail_used = false;
  options[1].spoiled_step = 0;
  TestWorkers workers(options);
  workers.Start();
  workers.Train(1, 1, Mode::kParallel, 0, 1);
  for (int64_t d = kHead; d < kWidth; ++d) EXPECT_EQ(workers[1].parameters()[d], 3.0f);
}

TEST(TrainerTest, OptimizerStateFollowsThePolicy) {
  for (const StatePolicy policy :
       {StatePolicy::kLocal, StatePolicy::kAverage, StatePolicy::kReset}) {
    QuadraticOptions options;
    options.policy = policy;
    TestWorkers workers(2, options);
    workers.Start();
    workers.Train(1, 1, Mode::kLocal, 0, 3);
    const std::vector<float> a = workers[0].velocity();
    const std::vector<float> b = workers[1].velocity();
    ASSERT_NE(a, b);
    workers.ReduceAll(1, 1, Equal(2));
    EXPECT_EQ(workers[0].velocity(), a);
    workers.Apply(1, 1, 1);
    switch (policy) {
      case StatePolicy::kLocal:
        EXPECT_EQ(workers[0].velocity(), a);
        EXPECT_EQ(workers[1].velocity(), b);
        break;
      case StatePolicy::kAverage:
        EXPECT_EQ(workers[0].velocity(), workers[1].velocity());
        EXPECT_FLOAT_EQ(workers[0].velocity()[0], (a[0] + b[0]) / 2);
        break;
      case StatePolicy::kReset:
        EXPECT_EQ(workers[0].velocity(), std::vector<float>(kWidth, 0.0f));
        EXPECT_EQ(workers[0].optimizer().step_count(), 0);
        break;
    }
  }
}

TEST(TrainerTest, FloatBuffersAreAveragedAndIntegersFollowTheLowestRank) {
  for (const Mode mode : {Mode::kLocal, Mode::kParallel}) {
    TestWorkers workers(2, {});
    workers.Start();
    workers[0].engine().float_buffers().data[0] = 10;
    workers[0].engine().integer_buffers()[0] = 40;
    workers.Train(1, 1, mode, 0, 2);
    if (mode == Mode::kLocal) workers.ReduceAll(1, 1, Equal(2));
    workers.Apply(1, 1, mode == Mode::kLocal ? 1 : 0);
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_FLOAT_EQ(workers[rank].engine().float_buffers().data[0], 9);  // (14 + 4) / 2
      EXPECT_EQ(workers[rank].engine().integer_buffers()[0], 42);
    }
  }
}

TEST(TrainerTest, ADroppedOrderGoesBackToTheRoundsStart) {
  TestWorkers workers(1, {});
  workers.Start();
  const std::vector<float> before = workers[0].parameters();
  workers.Train(1, 1, Mode::kLocal, 0, 3);
  ASSERT_NE(workers[0].parameters(), before);
  workers[0].Do(DropOrder{RoundId{1}});
  workers[0].Settle();
  EXPECT_EQ(workers[0].parameters(), before);
}

TEST(TrainerTest, AJoinerTakesValuesMomentsAndStepCountFromTheGiver) {
  TestWorkers workers(2, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 3);
  const uint64_t hash = workers.ReduceAll(1, 1, Equal(2))[0].reduced.state_hash;
  workers[0].Do(ApplyStaged{{1}, {1}, 1});  // Rank 1 misses the commit.
  Assemble assemble = workers.MakeAssemble(2, Purpose::kJoin, {StateNeed::kHolds, StateNeed::kAll});
  assemble.round = {1};
  assemble.state_hash = hash;
  workers[1].Do(DropOrder{RoundId{1}});
  const std::vector<Formed> formed = workers.Form(assemble);
  EXPECT_EQ(formed[1].state_hash, hash);
  EXPECT_EQ(workers[0].parameters(), workers[1].parameters());
  EXPECT_EQ(workers[0].velocity(), workers[1].velocity());
  EXPECT_EQ(workers[1].optimizer().step_count(), 3);
}

// Rule 15: the last holder's moments begin at zero before anybody gets them, and it says so.
TEST(TrainerTest, AHolderZeroesMomentsThatAreNotFiniteBeforeItGivesThem) {
  TestWorkers workers(2, {});
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 3);
  const uint64_t hash = workers.ReduceAll(1, 1, Equal(2))[0].reduced.state_hash;
  workers.Apply(1, 1, 1);
  for (int rank = 0; rank < 2; ++rank) {
    workers[rank].optimizer().moments().at(0).data[1] = std::nanf("");
  }
  Assemble retry = workers.MakeAssemble(2, Purpose::kRetry, {StateNeed::kHolds, StateNeed::kHolds});
  retry.round = {1};
  retry.state_hash = hash;
  EXPECT_FALSE(workers.Form(retry)[0].moments_zeroed);  // In mid-round nothing is touched.
  Assemble join = workers.MakeAssemble(3, Purpose::kJoin, {StateNeed::kHolds, StateNeed::kAll});
  join.round = {1};
  join.state_hash = hash;
  const std::vector<Formed> formed = workers.Form(join);
  EXPECT_TRUE(formed[0].moments_zeroed);
  EXPECT_FALSE(formed[1].moments_zeroed);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(workers[rank].velocity(), std::vector<float>(kWidth, 0.0f));
    EXPECT_EQ(workers[rank].optimizer().step_count(), 0);
    EXPECT_EQ(workers[rank].parameters(), workers[0].parameters());
  }
  join.group = {4};
  EXPECT_FALSE(workers.Form(join)[0].moments_zeroed);
}

TEST(TrainerTest, LossIsTheSumOfTheStepsMeans) {
  TestWorkers workers(1, {});
  workers.Start();
  const std::vector<Ready> ready = workers.Train(1, 1, Mode::kLocal, 0, 3);
  EXPECT_EQ(ready[0].steps, 3u);
  EXPECT_EQ(ready[0].samples, 6u);
  double expected = 0;
  std::vector<double> w(kWidth, 3.0), v(kWidth, 0.0);
  for (int step = 0; step < 3; ++step) {
    double loss = 0;
    for (int64_t d = 0; d < kWidth; ++d) {
      double mean = 0;
      for (int64_t i = 2 * step; i < 2 * step + 2; ++i) {
        const double x = static_cast<double>((i * 37 + d * 11) % 101) / 101.0;
        loss += (w[d] - x) * (w[d] - x) / 2 / 2;
        mean += x / 2;
      }
      v[d] = 0.5 * v[d] + (w[d] - mean);
      w[d] -= 0.25 * v[d];
    }
    expected += loss;
  }
  EXPECT_NEAR(ready[0].loss_sum, expected, 1e-5);
}

TEST(TrainerTest, EachMemberEvaluatesItsShareOfTheTestSet) {
  TestWorkers workers(1, {});
  workers.Start();
  uint64_t count = 0;
  double loss = 0;
  for (uint32_t rank = 0; rank < 7; ++rank) {
    workers[0].Do(Evaluate{EvaluateNow{{1}, {0}}, rank, 7});
    const Evaluated part = workers[0].Await<EvaluateDone>().evaluated;
    count += part.count;
    loss += part.loss_sum;
  }
  EXPECT_EQ(count, static_cast<uint64_t>(kSamples));
  workers[0].Do(Evaluate{EvaluateNow{{1}, {0}}, 0, 1});
  EXPECT_NEAR(workers[0].Await<EvaluateDone>().evaluated.loss_sum, loss, 1e-9);
}

}  // namespace
}  // namespace rondo::worker
