// What becomes of a member's residual: in files, with a new group, when the collective or the mode
// changes (rules 9, 15 and 21). Numbers (S43, ...) are those of tests/README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/runtime/sparse_workers.h"

namespace rondo::worker {
namespace {

const Floats kZeros(kWidth, 0.0f);

std::vector<QuadraticOptions> Two(const QuadraticOptions& options) { return {options, options}; }

// Group `group` of all, at the border after `round`.
Assemble At(const TestWorkers& workers, uint64_t group, uint64_t round, uint64_t step,
            uint64_t hash, std::vector<StateNeed> needs) {
  Assemble assemble = workers.MakeAssemble(group, Purpose::kStart, std::move(needs));
  assemble.round = {round};
  assemble.state_hash = hash;
  assemble.step = step;
  return assemble;
}

class RestoredTest : public testing::TestWithParam<std::tuple<Mode, SparseSelect>> {};

// S23, S43, rule 21. In threshold mode the thresholds and cuts come from the files, too.
TEST_P(RestoredTest, NewProcessesGoOnFromTheirFilesWithTheSameBits) {
  const auto [mode, select] = GetParam();
  const QuadraticOptions options{.select = select};
  SparseWorkers first(2, options);
  first.Start();
  first.Round(1, mode, 0, 4);
  const uint64_t hash = first.Round(2, mode, 4, 4)[0];
  first.SaveAll(1, 2, 8);
  ASSERT_GT(SquaredNorm(first.ResidualOf(1)), 0);
  const std::vector<uint64_t> third = first.Round(3, mode, 8, 4);
  const std::vector<uint64_t> fourth = first.Round(4, mode, 12, 4);
  first.SaveAll(1, 4, 16);
  const KeptFiles files = *first.files();

  SparseWorkers second(Two(options), Collective::kSparse, first.files());
  const std::vector<Formed> formed =
      second.Form(At(second, 5, 2, 8, hash, {StateNeed::kFile, StateNeed::kFile}));
  EXPECT_DOUBLE_EQ(formed[1].residual_norm_squared,
                   SquaredNorm(second.KeptResidual(8, "local-w1")));
  EXPECT_EQ(second.Round(9, mode, 8, 4, 5), third);
  EXPECT_EQ(second.Round(10, mode, 12, 4, 5), fourth);
  second.SaveAll(5, 4, 16);
  EXPECT_TRUE(*second.files() == files);  // Moments, residuals, thresholds and cuts among it.
}

INSTANTIATE_TEST_SUITE_P(Setups, RestoredTest,
                         testing::Combine(testing::Values(Mode::kParallel, Mode::kLocal),
                                          testing::Values(SparseSelect::kExact,
                                                          SparseSelect::kThreshold)));

// A coordinator that came back makes a group of its own: nothing has changed for its members.
TEST(AgreedTest, AGroupOfTheSameMembersGoesOnWithTheSameBits) {
  for (const SparseSelect select : {SparseSelect::kExact, SparseSelect::kThreshold}) {
    const QuadraticOptions options{.select = select};
    SparseWorkers through(3, options);
    SparseWorkers again(3, options);
    for (SparseWorkers* workers : {&through, &again}) workers->Start();
    uint64_t hash = 0;
    for (uint64_t round = 1; round <= 8; ++round) {
      if (round == 3 || round == 6) {
        again.Form(At(again, round, round - 1, 4 * round - 4, hash,
                      std::vector<StateNeed>(3, StateNeed::kHolds)));
      }
      const uint64_t group = round < 3 ? 1 : round < 6 ? 3 : 6;
      const std::vector<uint64_t> hashes = through.Round(round, Mode::kLocal, 4 * round - 4, 4);
      ASSERT_EQ(again.Round(round, Mode::kLocal, 4 * round - 4, 4, group), hashes) << round;
      hash = hashes[0];
    }
    through.SaveAll(1, 8, 32);
    again.SaveAll(6, 8, 32);
    EXPECT_TRUE(*again.files() == *through.files());  // Residuals, thresholds and cuts among it.
  }
}

TEST(RestoredResidualTest, APartialHasTheResidualWithWhichItsRoundBegan) {  // S47
  const QuadraticOptions options{.partial_every = 2};
  SparseWorkers first(2, options);
  first.Start();
  const uint64_t hash = first.Round(1, Mode::kLocal, 0, 3)[0];
  first.SaveAll(1, 1, 3);
  const uint64_t expected = first.Round(2, Mode::kLocal, 3, 7)[0];
  SparseWorkers second(Two(options), Collective::kSparse, first.files());
  Assemble assemble = At(second, 5, 1, 6, hash, {StateNeed::kPartial, StateNeed::kPartial});
  const std::vector<Formed> formed = second.Form(assemble);
  EXPECT_GT(formed[0].residual_norm_squared, 0);
  EXPECT_EQ(second.Round(2, Mode::kLocal, 3, 7, 5)[0], expected);
  EXPECT_EQ(second.Residuals(), first.Residuals());
}

TEST(RestoredResidualTest, WithoutItsFileItBeginsAtZero) {  // Rule 9.
  SparseWorkers workers(1);
  workers.Start();
  const uint64_t hash = workers.Round(1, Mode::kLocal, 0, 3)[0];
  workers.SaveAll(1, 1, 3);
  workers.files()->erase({3, "local-w0"});
  const auto formed = workers.Form(At(workers, 2, 1, 3, hash, {StateNeed::kFile}));
  EXPECT_EQ(formed[0].residual_norm_squared, 0);
  EXPECT_EQ(workers.ResidualOf(0), Floats());
}

// Rule 9: who takes a state from another member begins without, whatever it had.
TEST(ResidualTest, OnlyWhoHoldsEveryCommittedResultKeepsIt) {
  for (const StateNeed need :
       {StateNeed::kHolds, StateNeed::kMoments, StateNeed::kAll, StateNeed::kValues}) {
    SparseWorkers workers(3);
    workers.Start();
    const uint64_t hash = workers.Round(1, Mode::kLocal, 0, 3)[0];
    const std::vector<Floats> before = workers.Residuals();
    const std::vector<Formed> formed =
        workers.Form(At(workers, 2, 1, 3, hash, {StateNeed::kHolds, need, StateNeed::kHolds}));
    const bool keeps = need == StateNeed::kHolds || need == StateNeed::kMoments;
    for (int rank = 0; rank < 3; ++rank) {
      const bool kept = rank != 1 || keeps;
      EXPECT_EQ(workers.ResidualOf(rank), kept ? before[rank] : Floats());
      EXPECT_EQ(formed[rank].residual_norm_squared, kept ? SquaredNorm(before[rank]) : 0);
    }
    const std::vector<uint64_t> hashes = workers.Round(2, Mode::kLocal, 3, 3, 2);
    EXPECT_EQ(hashes, std::vector<uint64_t>(3, hashes[0]));
  }
}

TEST(ResidualTest, OneThatIsNotFiniteBeginsAgainAtZero) {  // Rule 15.
  SparseWorkers workers(2);
  workers.Start();
  const uint64_t hash = workers.Round(1, Mode::kLocal, 0, 3)[0];
  workers.SaveAll(1, 1, 3);
  std::string& file = (*workers.files())[{3, "local-w0"}];
  // The last tensors are the residual, 7 floats, and what was agreed, 4 + 3 integers.
  const float spoiled = std::nanf("");
  file.replace(file.size() - 7 * 8 - 4, 4, reinterpret_cast<const char*>(&spoiled), 4);
  ASSERT_TRUE(std::isnan(workers.KeptResidual(3, "local-w0").back()));
  const std::vector<Formed> formed =
      workers.Form(At(workers, 2, 1, 3, hash, {StateNeed::kFile, StateNeed::kFile}));
  EXPECT_EQ(formed[0].residual_norm_squared, 0);
  EXPECT_GT(formed[1].residual_norm_squared, 0);
}

TEST(ResidualTest, ADroppedLocalOrderLeavesIt) {
  SparseWorkers workers(1);
  workers.Start();
  workers.Round(1, Mode::kLocal, 0, 3);
  const Floats before = workers.ResidualOf(0);
  workers.Train(1, 2, Mode::kLocal, 3, 3);
  workers.ReduceAll(1, 2, {2.0});
  workers[0].Do(DropStaged{{2}, {1}, 1});
  workers[0].Do(DropOrder{RoundId{2}});
  EXPECT_EQ(workers.ResidualOf(0), before);
}

// As `auto` does: on a switch to dense r is added to the next dense input and cleared at its
// commit.
TEST(SwitchTest, ALocalDenseRoundDeliversTheResidual) {
  SparseWorkers workers(2);
  workers.Start();
  workers.Round(1, Mode::kLocal, 0, 3);
  const std::vector<Floats> residuals = workers.Residuals();
  workers.collective = Collective::kRing;
  workers.Train(1, 2, Mode::kLocal, 3, 3);
  const std::vector<Floats> trained = workers.Parameters();
  const std::vector<Reduced> reduced = workers.ReduceAll(1, 2, {2.0, 2.0});
  EXPECT_EQ(reduced[0].reduced.residual_norm_squared, 0);
  EXPECT_EQ(workers.Residuals(), residuals);
  workers.Apply(1, 2, 1);
  EXPECT_EQ(workers.Residuals(), std::vector<Floats>(2));
  for (int64_t d = 0; d < kWidth; ++d) {
    const float mean = ((trained[0][d] + residuals[0][d]) + (trained[1][d] + residuals[1][d])) / 2;
    EXPECT_EQ(workers[0].parameters()[d], mean);
    EXPECT_EQ(workers[1].parameters()[d], mean);
  }
  workers.collective = Collective::kSparse;  // And back.
  const std::vector<uint64_t> hashes = workers.Round(3, Mode::kLocal, 6, 3);
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(SwitchTest, AMemberThatIsLeftOutOfTheDenseRoundKeepsItsResidual) {
  SparseWorkers workers(2);
  workers.Start();
  workers.Round(1, Mode::kLocal, 0, 3);
  const std::vector<Floats> residuals = workers.Residuals();
  workers.collective = Collective::kRing;
  workers.Train(1, 2, Mode::kLocal, 3, 3);
  workers.ReduceAll(1, 2, {2.0, 0.0});
  workers.Apply(1, 2, 1);
  EXPECT_EQ(workers.ResidualOf(0), Floats());
  EXPECT_EQ(workers.ResidualOf(1), residuals[1]);
}

TEST(SwitchTest, TheFirstDenseStepDeliversTheResidual) {
  QuadraticOptions options;
  options.optimizer.momentum = 0;
  SparseWorkers workers(2, options);
  workers.Start();
  workers.Round(1, Mode::kParallel, 0, 3);
  const std::vector<Floats> residuals = workers.Residuals();
  const Floats before = workers[0].parameters();
  workers.collective = Collective::kRing;
  const std::vector<Ready> ready = workers.Train(1, 2, Mode::kParallel, 3, 1);
  EXPECT_EQ(ready[0].reduced.residual_norm_squared, 0);
  EXPECT_FALSE(ready[0].reduced.sparse.has_value());
  for (int64_t d = 0; d < kWidth; ++d) {
    float sum = 0;
    for (int rank = 0; rank < 2; ++rank) {
      sum += workers[rank].engine().gradients().data[d] + residuals[rank][d];
    }
    EXPECT_FLOAT_EQ(workers[0].parameters()[d], before[d] - 0.25f * (sum / 2));
  }
  EXPECT_EQ(workers.Residuals(), std::vector<Floats>(2));
}

// A residual has the unit of its mode.
TEST(SwitchTest, AnOrderOfTheOtherModeBeginsWithoutAResidual) {
  for (const Mode mode : {Mode::kParallel, Mode::kLocal}) {
    const Mode other = mode == Mode::kParallel ? Mode::kLocal : Mode::kParallel;
    SparseWorkers workers(2);
    workers.Start();
    workers.Round(1, mode, 0, 3);
    ASSERT_GT(SquaredNorm(workers.ResidualOf(0)), 0);
    workers.Train(1, 2, other, 3, 0);
    EXPECT_EQ(workers.ResidualOf(0), kZeros);
  }
}

TEST(SwitchTest, AnotherSparseCollectiveOrDensityGoesOnWithTheResidual) {
  SparseWorkers workers(2);
  workers.Start();
  workers.Round(1, Mode::kParallel, 0, 3);
  const std::vector<Floats> residuals = workers.Residuals();
  workers.collective = Collective::kTopkGather;
  workers.Train(1, 2, Mode::kParallel, 3, 0);
  EXPECT_EQ(workers.Residuals(), residuals);
  workers.density = 1;  // All is delivered.
  workers.Round(3, Mode::kParallel, 3, 1);
  EXPECT_EQ(workers.Residuals(), std::vector<Floats>(2, kZeros));
}

}  // namespace
}  // namespace rondo::worker
