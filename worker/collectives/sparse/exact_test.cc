// Mode exact: what sparse_allreduce.h promises of every step, bit for bit, for all kinds of data,
// sizes and groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"

namespace rondo {
namespace {

std::vector<float> Ones(int ranks) { return std::vector<float>(static_cast<size_t>(ranks), 1.0f); }

// Reduces `steps` times with error feedback and compares each with the plain way.
class Comparison {
 public:
  Comparison(int ranks, const SparseSpec& spec)
      : ranks_(ranks), k_(spec.k), members_(ranks, spec) {}
  SparseMembers& members() { return members_; }

  void Step(const Vectors& values, const std::vector<float>& factors) {
    const PlainInput input{members_.Residuals(), values, factors};
    const PlainResult expected = PlainReduce(input, k_);
    for (const auto& status : members_.Reduce(GroupOf(ranks_), values, factors, ++step_)) {
      ASSERT_OK(status);
    }
    EXPECT_EQ(members_.Residuals(), input.residuals) << "changed before the commit";
    members_.Commit();
    for (int rank = 0; rank < ranks_; ++rank) {
      ASSERT_EQ(members_.delivered(rank), expected.delivered) << "rank " << rank;
      ASSERT_EQ(members_.mean(rank), expected.mean) << "rank " << rank;
    }
    const Vectors residuals = members_.Residuals();
    ASSERT_EQ(residuals, expected.residuals);
    EXPECT_TRUE(CheckStep(input, k_, expected.delivered, residuals).all());
  }

 private:
  const int ranks_;
  const int64_t k_;
  SparseMembers members_;
  int64_t step_ = 0;
};

class ExactTest : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(ExactTest, IsTheTopOfTheSumOfTheTopsForEveryShapeSizeAndK) {
  for (const int64_t n : std::set<int64_t>{1, 2, ranks(), 17, 1000}) {
    for (const int64_t k : std::set<int64_t>{1, 2, std::max<int64_t>(1, n / 10), n, 2 * n}) {
      for (const Shape shape : {Shape::kHeavyTailed, Shape::kTied, Shape::kZero, Shape::kAllEqual,
                                Shape::kMostlyZero}) {
        SCOPED_TRACE("n " + std::to_string(n) + ", k " + std::to_string(k) + ", shape " +
                     std::to_string(static_cast<int>(shape)));
        Comparison comparison(ranks(), {.size = n, .k = k});
        for (uint32_t step = 1; step <= 2; ++step) {
          comparison.Step(ValuesOf(shape, ranks(), n, step), Ones(ranks()));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(ExactTest, ARankMayHaveNothingToSend) {
  Vectors values = ValuesOf(Shape::kTied, ranks(), 300, 1);
  std::fill(values.back().begin(), values.back().end(), 0.0f);
  Comparison comparison(ranks(), {.size = 300, .k = 30});
  comparison.Step(values, Ones(ranks()));
}

TEST_P(ExactTest, EntriesMayAllLieInOneRegionsPlace) {
  Vectors values(static_cast<size_t>(ranks()), std::vector<float>(1000, 0.0f));
  for (int rank = 0; rank < ranks(); ++rank) {
    for (int i = 0; i < 50; ++i)
      values[static_cast<size_t>(rank)][static_cast<size_t>(i)] = 1.0f + rank * i;
  }
  Comparison comparison(ranks(), {.size = 1000, .k = 40});
  comparison.Step(values, Ones(ranks()));
  comparison.Step(values, Ones(ranks()));
}

// 0 is no winner; the contributions stay in the residuals.
TEST_P(ExactTest, WhatCancelsExactlyStaysInTheResiduals) {
  if (ranks() < 2) return;
  Vectors values(static_cast<size_t>(ranks()), std::vector<float>(100, 0.0f));
  values[0][7] = 5.0f;
  values[1][7] = -5.0f;
  values[0][9] = 0.5f;
  Comparison comparison(ranks(), {.size = 100, .k = 2});
  comparison.Step(values, Ones(ranks()));
  EXPECT_EQ(comparison.members().delivered(0), (std::vector<PlainEntry>{{9, 0.5f}}));
  EXPECT_EQ(comparison.members().Residuals()[0][7], 5.0f);
  EXPECT_EQ(comparison.members().Residuals()[1][7], -5.0f);
}

TEST_P(ExactTest, WeightsScaleTheInputAndDivideTheSum) {
  std::vector<float> factors = Ones(ranks());
  factors.back() = 0.625f;
  Comparison comparison(ranks(), {.size = 500, .k = 25});
  for (uint32_t step = 1; step <= 3; ++step) {
    comparison.Step(ValuesOf(Shape::kNormal, ranks(), 500, step), factors);
    if (HasFatalFailure()) return;
  }
}

// Rule 15: it sends nothing and keeps its residual; its values are never read.
TEST_P(ExactTest, AnExcludedMemberKeepsItsResidual) {
  if (ranks() < 2) return;
  Comparison comparison(ranks(), {.size = 500, .k = 25});
  comparison.Step(ValuesOf(Shape::kNormal, ranks(), 500, 1), Ones(ranks()));
  const std::vector<float> before = comparison.members().Residuals()[0];
  std::vector<float> factors = Ones(ranks());
  factors[0] = 0;
  Vectors values = ValuesOf(Shape::kNormal, ranks(), 500, 2);
  std::fill(values[0].begin(), values[0].end(), std::numeric_limits<float>::quiet_NaN());
  comparison.Step(values, factors);
  EXPECT_EQ(comparison.members().Residuals()[0], before);
  EXPECT_EQ(comparison.members().member(0).report().selected, 0);
  comparison.Step(ValuesOf(Shape::kNormal, ranks(), 500, 3), Ones(ranks()));
}

TEST_P(ExactTest, RegionsWindowsAndRebalancingChangeNoBit) {
  const int64_t n = 3000;
  const SparseSpec plain{.size = n, .k = 100};
  std::vector<SparseSpec> specs(5, plain);
  specs[0].cuts_every = 1;
  specs[1].cuts_every = 1000;
  specs[2].window = 1;
  specs[3].window = 2;
  specs[3].imbalance_percent = 100;
  specs[4].imbalance_percent = 200;
  SparseMembers reference(ranks(), plain);
  std::vector<SparseMembers> others;
  for (const SparseSpec& spec : specs) others.emplace_back(ranks(), spec);
  for (uint32_t step = 1; step <= 4; ++step) {
    Vectors values = ValuesOf(Shape::kHeavyTailed, ranks(), n, step);
    // From step to step the large values move, so that old regions fit badly.
    for (auto& of_rank : values) {
      for (size_t i = 0; i < 300; ++i) of_rank[(step * 700 + i) % n] *= 1e6f;
    }
    for (const auto& status : reference.Reduce(GroupOf(ranks()), values, Ones(ranks()), step)) {
      ASSERT_OK(status);
    }
    reference.Commit();
    for (SparseMembers& members : others) {
      for (const auto& status : members.Reduce(GroupOf(ranks()), values, Ones(ranks()), step)) {
        ASSERT_OK(status);
      }
      members.Commit();
      ASSERT_EQ(members.delivered(0), reference.delivered(0));
      ASSERT_EQ(members.Residuals(), reference.Residuals());
    }
  }
  EXPECT_EQ(others[3].member(0).report().rebalanced, ranks() > 1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ExactTest, testing::Values(1, 2, 3, 5, 7, 8, 13));

TEST(EmptyVectorTest, IsReducedByEveryGroup) {
  for (const int ranks : {1, 3}) {
    SparseMembers members(ranks, {.size = 0, .k = 1});
    const Vectors none(static_cast<size_t>(ranks));
    for (const auto& status : members.Reduce(GroupOf(ranks), none, Ones(ranks), 1)) {
      EXPECT_OK(status);
    }
    EXPECT_TRUE(members.delivered(0).empty());
  }
}

TEST(GroupOfOneTest, SendsNothingAndClearsWhatItDelivered) {
  Comparison comparison(1, {.size = 1000, .k = 10});
  comparison.Step(ValuesOf(Shape::kNormal, 1, 1000, 1), {1.0f});
  const TrafficCounters traffic = GroupOf(1).member(0).Counters();
  EXPECT_EQ(traffic.payload_bytes_sent + traffic.header_bytes_sent, 0);
}

TEST(RepeatedRunTest, GivesTheSameBits) {
  std::vector<Vectors> ends;
  for (int run = 0; run < 2; ++run) {
    SparseMembers members(5, {.size = 2000, .k = 40});
    for (uint32_t step = 1; step <= 5; ++step) {
      const Vectors values = ValuesOf(Shape::kNormal, 5, 2000, step);
      for (const auto& status : members.Reduce(GroupOf(5), values, Ones(5), step)) {
        ASSERT_OK(status);
      }
      members.Commit();
    }
    ends.push_back(members.Residuals());
    ends.push_back({members.mean(0)});
  }
  EXPECT_EQ(ends[0], ends[2]);
  EXPECT_EQ(ends[1], ends[3]);
}

// Controls: mistakes that a step's checks must see.
class ControlTest : public testing::Test {
 protected:
  const int64_t k_ = 20;
  const PlainInput input_{Vectors(4, std::vector<float>(400, 0.25f)),
                          ValuesOf(Shape::kTied, 4, 400, 1), Ones(4)};
  const PlainResult right_ = PlainReduce(input_, k_);
};

TEST_F(ControlTest, TheRightStepPasses) {
  EXPECT_TRUE(CheckStep(input_, k_, right_.delivered, right_.residuals).all());
}

TEST_F(ControlTest, ClearingOnlyTheOwnRegionIsSeen) {
  const Vectors a = Accumulated(input_);
  Vectors residuals = right_.residuals;
  for (size_t rank = 0; rank < 4; ++rank) {
    for (size_t i = 0; i < 400; ++i) {
      if (i / 100 != rank) residuals[rank][i] = a[rank][i];
    }
  }
  EXPECT_FALSE(CheckStep(input_, k_, right_.delivered, residuals).conserves);
}

TEST_F(ControlTest, TakingOnlyWhatIsStrictlyAboveTheThresholdIsSeen) {
  float lowest = std::numeric_limits<float>::max();
  for (const auto& [index, value] : right_.delivered) lowest = std::min(lowest, std::abs(value));
  std::vector<PlainEntry> strict;
  for (const PlainEntry& entry : right_.delivered) {
    if (std::abs(entry.second) > lowest) strict.push_back(entry);
  }
  EXPECT_FALSE(CheckStep(input_, k_, strict, right_.residuals).counts);
}

TEST_F(ControlTest, ClearingAllThatWasSelectedIsSeen) {
  Vectors residuals = right_.residuals;
  for (size_t rank = 0; rank < 4; ++rank) {
    for (const auto& [index, value] : right_.selected[rank]) {
      residuals[rank][static_cast<size_t>(index)] = 0;
    }
  }
  EXPECT_FALSE(CheckStep(input_, k_, right_.delivered, residuals).conserves);
}

}  // namespace
}  // namespace rondo
