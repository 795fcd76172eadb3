// Sparse orders in both modes: what a group makes of them, bit for bit, and what a failure leaves.
// Numbers (S43, ...) are those of tests/README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/sparse_workers.h"

namespace rondo::worker {
namespace {

constexpr int64_t kK = 2;  // TestWorkers::density of kWidth.

using Setup = std::tuple<int, Mode, Collective, SparseSelect>;

class SparseRoundTest : public testing::TestWithParam<Setup> {};

TEST_P(SparseRoundTest, GivesTheSameBitsOnEveryMemberAndOnEveryRun) {
  const auto [members, mode, collective, select] = GetParam();
  std::vector<uint64_t> first_run;
  Vectors first_residuals;
  for (int run = 0; run < 2; ++run) {
    SparseWorkers workers(members, {.select = select}, collective);
    workers.Start();
    for (uint64_t round = 1; round <= 4; ++round) {
      const std::vector<uint64_t> hashes = workers.Round(round, mode, (round - 1) * 3, 3);
      for (const uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]) << "round " << round;
      if (run == 0) first_run.push_back(hashes[0]);
      EXPECT_EQ(hashes[0], first_run[round - 1]);
    }
    for (const std::vector<float>& each : workers.Parameters()) {
      EXPECT_EQ(each, workers[0].parameters());
    }
    const Vectors residuals = workers.Residuals();
    if (run == 0) first_residuals = residuals;
    EXPECT_EQ(residuals, first_residuals);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Setups, SparseRoundTest,
    testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(Mode::kParallel, Mode::kLocal),
                     testing::Values(Collective::kSparse, Collective::kTopkGather),
                     testing::Values(SparseSelect::kExact, SparseSelect::kThreshold)));

std::vector<float> Minus(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference = a;
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

struct Weights {
  std::vector<double> given;
  std::vector<float> factors;  // w*P/W
};

// S53: the deltas are negative here.
TEST(SparseLocalTest, TheResultIsTheBaseAndTheTopOfTheSumOfTheTopsOfWhatMembersMoved) {
  const Weights kCases[] = {{{2, 2, 2}, {1, 1, 1}}, {{2, 0, 4}, {1, 0, 2}}};
  for (const Weights& weights : kCases) {
    SparseWorkers workers(3);
    workers.Start();
    std::vector<float> base = workers[0].parameters();
    Vectors residuals(3, std::vector<float>(kWidth, 0.0f));
    for (uint64_t round = 1; round <= 4; ++round) {
      workers.Train(1, round, Mode::kLocal, (round - 1) * 3, 3);
      PlainInput input{residuals, workers.Parameters(), weights.factors};
      for (std::vector<float>& values : input.values) values = Minus(values, base);
      const PlainResult expected = PlainReduce(input, kK);
      const std::vector<Reduced> reduced = workers.ReduceAll(1, round, weights.given);
      EXPECT_EQ(workers.Residuals(), residuals);  // Until the commit.
      workers.Apply(1, round, 1);
      for (int64_t d = 0; d < kWidth; ++d) base[d] += expected.mean[d];
      residuals = expected.residuals;
      EXPECT_EQ(workers.Parameters(), Vectors(3, base));
      EXPECT_EQ(workers.Residuals(), residuals);
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_DOUBLE_EQ(reduced[rank].reduced.residual_norm_squared, SquaredNorm(residuals[rank]));
      }
    }
    EXPECT_GT(SquaredNorm(residuals[2]), 0);
  }
}

TEST(SparseParallelTest, EachStepTakesTheTopOfTheSumOfTheTopsOfTheGradients) {
  QuadraticOptions options;
  SparseWorkers workers(3, options);
  workers.Start();
  LoadedJob alone = MakeQuadraticJob(options);
  const DeviceSpan<float> w = alone.engine->parameters();
  Vectors residuals(3, std::vector<float>(kWidth, 0.0f));
  for (uint64_t round = 1; round <= 6; ++round) {
    const std::vector<Ready> ready = workers.Train(1, round, Mode::kParallel, round - 1, 1);
    workers.Apply(1, round, 0);
    PlainInput input{residuals, {}, {1, 1, 1}};
    for (int rank = 0; rank < 3; ++rank) {
      const DeviceSpan<float> gradient = workers[rank].engine().gradients();
      input.values.emplace_back(gradient.data, gradient.data + kWidth);
    }
    PlainResult expected = PlainReduce(input, kK);
    ASSERT_TRUE(alone.optimizer->Step(w, {expected.mean.data(), kWidth}, 0.25).ok());
    residuals = expected.residuals;
    EXPECT_EQ(workers.Parameters(), Vectors(3, std::vector<float>(w.data, w.data + kWidth)));
    EXPECT_EQ(workers.Residuals(), residuals);
    EXPECT_DOUBLE_EQ(ready[1].reduced.residual_norm_squared, SquaredNorm(residuals[1]));
  }
}

// S50, rule 15.
TEST(SparseParallelTest, AMemberWithoutAFiniteGradientTakesNoPartAndKeepsItsResidual) {
  std::vector<QuadraticOptions> options(3);
  options[1].spoiled_step = 2;
  SparseWorkers workers(options);
  workers.Start();
  workers.Round(1, Mode::kParallel, 0, 2);
  const std::vector<float> kept = workers.ResidualOf(1);
  ASSERT_GT(SquaredNorm(kept), 0);
  const std::vector<Ready> ready = workers.Train(1, 2, Mode::kParallel, 2, 1);
  EXPECT_FALSE(ready[1].finite);
  EXPECT_EQ(ready[0].reduced.state_hash, ready[1].reduced.state_hash);
  workers.Apply(1, 2, 0);
  EXPECT_EQ(workers.ResidualOf(1), kept);
  EXPECT_NE(workers.ResidualOf(0), std::vector<float>(kWidth, 0.0f));
}

TEST(SparseParallelTest, AStepWithoutAnyFiniteGradientFailsWithThatCause) {
  QuadraticOptions options;
  options.spoiled_step = 1;
  SparseWorkers workers(2, options);
  workers.Start();
  for (int rank = 0; rank < 2; ++rank) {
    workers[rank].Do(Train{workers.MakeOrder(1, 1, Mode::kParallel, 0, 3, rank)});
  }
  for (int rank = 0; rank < 2; ++rank) {
    const Failed failed = workers[rank].Await<StepsFailed>().failed;
    EXPECT_EQ(failed.cause, FailureCause::kNoFactor);
    EXPECT_EQ(failed.step, 1u);
  }
}

// r is untouched, a retry gives the same bytes. The committed result is applied late by the
// one that was away.
TEST(SparseLocalTest, AFailedReduceIsRepeatedWithTheSameBytes) {
  SparseWorkers undisturbed(3);
  undisturbed.Start();
  undisturbed.Round(1, Mode::kLocal, 0, 3);
  const uint64_t expected = undisturbed.Round(2, Mode::kLocal, 3, 3)[0];

  SparseWorkers workers(3);
  workers.Start();
  workers.Round(1, Mode::kLocal, 0, 3);
  const Vectors residuals = workers.Residuals();
  for (int rank = 0; rank < 3; ++rank) {
    workers[rank].groups().fails_at = 1;  // The attempt.
    workers[rank].groups().fails_in = rondo::Phase::kSparseGather;
    workers[rank].groups().fails_here = rank == 1;
  }
  const std::vector<StateNeed> needs(3, StateNeed::kHolds);
  workers.Form(workers.MakeAssemble(2, Purpose::kRetry, needs));
  workers.Train(2, 2, Mode::kLocal, 3, 3);
  const Reduce reduce{{2}, {2}, 1, {{0, 2}, {1, 2}, {2, 2}}};
  for (int rank = 0; rank < 3; ++rank) workers[rank].Do(ReduceState{reduce});
  EXPECT_EQ(workers[1].Await<ReduceFailed>().failed.cause, FailureCause::kPeer);
  for (const int rank : {0, 2}) {  // Their buffers' part failed.
    workers[rank].Do(LeaveGroup{GroupId{2}});
    workers[rank].Await<ReduceFailed>();
  }
  EXPECT_EQ(workers.Residuals(), residuals);
  for (int rank = 0; rank < 3; ++rank) workers[rank].groups().fails_at.reset();
  workers.Form(workers.MakeAssemble(3, Purpose::kRetry, needs));
  const std::vector<Reduced> reduced = workers.ReduceAll(3, 2, Equal(3), 2);
  EXPECT_EQ(reduced[0].reduced.state_hash, expected);
  for (const int rank : {0, 1}) workers[rank].Do(ApplyStaged{{2}, {3}, 2});
  EXPECT_EQ(workers.ResidualOf(2), residuals[2]);
  workers[2].Do(LeaveGroup{GroupId{3}});
  workers[2].Do(ApplyStaged{{2}, {3}, 2});
  EXPECT_EQ(workers.Residuals(), undisturbed.Residuals());
  EXPECT_EQ(workers.Parameters(), undisturbed.Parameters());
}

TEST(SparseLocalTest, MomentsAndBuffersAreAveragedByTheJobsPolicy) {
  for (const StatePolicy policy :
       {StatePolicy::kLocal, StatePolicy::kAverage, StatePolicy::kReset}) {
    SparseWorkers workers(2, {.policy = policy});
    workers.Start();
    workers[0].engine().float_buffers().data[0] = 10;
    workers[0].engine().integer_buffers()[0] = 40;
    workers.Train(1, 1, Mode::kLocal, 0, 2);
    const std::vector<float> a = workers[0].velocity();
    const std::vector<float> b = workers[1].velocity();
    ASSERT_NE(a, b);
    workers.ReduceAll(1, 1, Equal(2));
    EXPECT_EQ(workers[0].velocity(), a);
    workers.Apply(1, 1, 1);
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_FLOAT_EQ(workers[rank].engine().float_buffers().data[0], 9);  // (14 + 4) / 2
      EXPECT_EQ(workers[rank].engine().integer_buffers()[0], 42);
      switch (policy) {
        case StatePolicy::kLocal:
          EXPECT_EQ(workers[rank].velocity(), rank == 0 ? a : b);
          break;
        case StatePolicy::kAverage:
          for (int64_t d = 0; d < kWidth; ++d) {
            EXPECT_FLOAT_EQ(workers[rank].velocity()[d], (a[d] + b[d]) / 2);
          }
          break;
        case StatePolicy::kReset:
          EXPECT_EQ(workers[rank].velocity(), std::vector<float>(kWidth, 0.0f));
          break;
      }
    }
  }
}

const PhaseCost* Find(const std::vector<PhaseCost>& costs, CostPhase phase) {
  for (const PhaseCost& cost : costs) {
    if (cost.phase == phase) return &cost;
  }
  return nullptr;
}

TEST(SparseStatsTest, ReadyAndReducedSayWhatTheReductionsDidAndCost) {
  for (const Mode mode : {Mode::kParallel, Mode::kLocal}) {
    SparseWorkers workers(3);
    workers.Start();
    std::vector<ReduceFacts> facts;
    for (const Ready& ready : workers.Train(1, 1, mode, 0, 5)) facts.push_back(ready.reduced);
    const uint64_t reductions = mode == Mode::kParallel ? 5 : 1;
    if (mode == Mode::kLocal) {
      for (size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(facts[rank].sparse.has_value());
      facts.clear();
      for (const Reduced& each : workers.ReduceAll(1, 1, Equal(3))) facts.push_back(each.reduced);
    }
    uint64_t region_entries = 0;
    uint64_t merged = 0;
    for (const ReduceFacts& each : facts) {
      ASSERT_TRUE(each.sparse.has_value());
      EXPECT_EQ(each.sparse->reductions, reductions);
      EXPECT_EQ(each.sparse->selected, kK * reductions);
      EXPECT_EQ(each.sparse->delivered, kK * reductions);
      EXPECT_EQ(each.sparse->cuts, 1u);
      EXPECT_EQ(each.sparse->thresholds, reductions);
      EXPECT_EQ(each.sparse->largest_part, facts[0].sparse->largest_part);
      region_entries += each.sparse->region_entries;
      merged += each.sparse->merged;
      EXPECT_EQ(Find(each.costs, CostPhase::kReduce), nullptr);
      const PhaseCost* gather = Find(each.costs, CostPhase::kGather);
      ASSERT_NE(gather, nullptr);
      EXPECT_EQ(gather->calls, reductions);
      EXPECT_EQ(gather->bytes_sent % 8, 0u);
      EXPECT_GT(Find(each.costs, CostPhase::kAgree)->bytes_sent, 0u);
      EXPECT_EQ(Find(each.costs, CostPhase::kSelect)->bytes_sent, 0u);
      EXPECT_GT(Find(each.costs, CostPhase::kBuffers)->bytes_sent, 0u);
    }
    EXPECT_EQ(region_entries, 3 * kK * reductions);  // What all gave arrived somewhere.
    EXPECT_LE(merged, region_entries);
  }
}

}  // namespace
}  // namespace rondo::worker
