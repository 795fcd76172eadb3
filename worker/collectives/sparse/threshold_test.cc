// Mode threshold, and what members agree on between steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"

namespace rondo {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kSize = 4000;
constexpr int64_t kK = 200;
const std::vector<float> kOnes(kRanks, 1.0f);
const SparseSpec kSpec = {.size = kSize,
                          .k = kK,
                          .select = SparseSelect::kThreshold,
                          .local_threshold_every = 8,
                          .global_threshold_every = 8};

void Step(SparseMembers* members, const Vectors& values, int64_t step) {
  for (const auto& status : members->Reduce(GroupOf(kRanks), values, kOnes, step)) {
    ASSERT_OK(status);
  }
  members->Commit();
}

TEST(ThresholdTest, TheFirstStepIsTheExactOne) {
  SparseMembers members(kRanks, kSpec);
  const Vectors values = ValuesOf(Shape::kTied, kRanks, kSize, 1);
  const PlainResult expected = PlainReduce({members.Residuals(), values, kOnes}, kK);
  Step(&members, values, 1);
  EXPECT_EQ(members.delivered(0), expected.delivered);
  EXPECT_EQ(members.Residuals(), expected.residuals);
}

TEST(ThresholdTest, ConservesAndAgreesInEveryStep) {
  SparseMembers members(kRanks, kSpec);
  int reused = 0;
  for (uint32_t step = 1; step <= 20; ++step) {
    const PlainInput input{members.Residuals(), ValuesOf(Shape::kNormal, kRanks, kSize, step),
                           kOnes};
    Step(&members, input.values, step);
    const StepChecks checks = CheckStep(input, kK, members.delivered(0), members.Residuals());
    ASSERT_TRUE(checks.conserves && checks.keeps_rest) << step;
    for (int rank = 1; rank < kRanks; ++rank) {
      ASSERT_EQ(members.delivered(rank), members.delivered(0));
      ASSERT_EQ(members.mean(rank), members.mean(0));
    }
    reused += !members.member(0).report().refreshed_threshold;
  }
  EXPECT_GT(reused, 0);
}

// S55: a threshold that no longer fits is found again in the same step.
TEST(ThresholdTest, ValuesThatShrinkOrGrowMakeItFreshAtOnce) {
  for (const float factor : {1e-4f, 1e4f}) {
    SparseMembers members(kRanks, kSpec);
    Step(&members, ValuesOf(Shape::kNormal, kRanks, kSize, 1), 1);
    members.SetResiduals(Vectors(kRanks, std::vector<float>(kSize, 0.0f)));
    Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, 2);
    for (auto& of_rank : values) {
      for (float& x : of_rank) x *= factor;
    }
    Step(&members, values, 2);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(members.member(rank).report().selected, kK);
      EXPECT_EQ(members.member(rank).report().delivered, kK);
      EXPECT_TRUE(members.member(rank).report().refreshed_threshold);
    }
  }
}

TEST(ThresholdTest, EntriesLargerThanAllOthersAreNeverCapped) {
  SparseMembers members(kRanks, kSpec);
  for (uint32_t step = 1; step <= 10; ++step) {
    Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, step);
    values[1][step * 7] = -1e6f;
    Step(&members, values, step);
    bool found = false;
    for (const auto& [index, value] : members.delivered(2)) found |= index == step * 7;
    EXPECT_TRUE(found) << step;
  }
}

// Save and load in the middle of a run: the same bits as without, in both modes.
TEST(SavedStateTest, GoesOnWithTheSameBits) {
  for (const SparseSelect select : {SparseSelect::kExact, SparseSelect::kThreshold}) {
    SparseSpec spec = kSpec;
    spec.select = select;
    SparseMembers through(kRanks, spec);
    for (uint32_t step = 1; step <= 5; ++step) {
      Step(&through, ValuesOf(Shape::kNormal, kRanks, kSize, step), step);
    }
    SparseMembers restored(kRanks, spec);
    restored.SetResiduals(through.Residuals());
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_OK_AND_ASSIGN(SparseAgreed agreed,
                           DecodeAgreed(EncodeAgreed(through.member(rank).agreed()), kSize));
      restored.member(rank).SetAgreed(std::move(agreed));
    }
    for (uint32_t step = 6; step <= 14; ++step) {
      const Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, step);
      Step(&through, values, step);
      Step(&restored, values, step);
      ASSERT_EQ(through.delivered(0), restored.delivered(0)) << step;
      ASSERT_EQ(through.Residuals(), restored.Residuals()) << step;
    }
  }
}

// A member that comes without what the others agreed on, or with something else.
TEST(AgreedTest, MembersThatDifferFindItAfresh) {
  for (const SparseSelect select : {SparseSelect::kExact, SparseSelect::kThreshold}) {
    SparseSpec spec = kSpec;
    spec.select = select;
    SparseMembers members(kRanks, spec);
    for (uint32_t step = 1; step <= 3; ++step) {
      Step(&members, ValuesOf(Shape::kNormal, kRanks, kSize, step), step);
      EXPECT_EQ(members.member(0).report().refreshed_cuts, step == 1);
    }
    members.member(1).BeginGroup();
    const PlainInput input{members.Residuals(), ValuesOf(Shape::kNormal, kRanks, kSize, 4), kOnes};
    Step(&members, input.values, 4);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(members.member(rank).report().refreshed_cuts);
      EXPECT_TRUE(members.member(rank).report().refreshed_threshold);
      EXPECT_EQ(members.delivered(rank), members.delivered(0));
    }
    const StepChecks checks = CheckStep(input, kK, members.delivered(0), members.Residuals());
    EXPECT_TRUE(checks.conserves && checks.keeps_rest);
  }
}

// P -> P': the kept residuals are unchanged, joiners begin with zeros.
TEST(ChangeOfGroupTest, KeepsTheResidualsOfThoseWhoStay) {
  for (const SparseSelect select : {SparseSelect::kExact, SparseSelect::kThreshold}) {
    SparseSpec spec = kSpec;
    spec.select = select;
    SparseMembers before(kRanks, spec);
    for (uint32_t step = 1; step <= 3; ++step) {
      Step(&before, ValuesOf(Shape::kNormal, kRanks, kSize, step), step);
    }
    Vectors residuals = before.Residuals();
    residuals.erase(residuals.begin());  // rank 0 leaves, two join
    residuals.resize(kRanks + 1, std::vector<float>(kSize, 0.0f));
    SparseMembers after(kRanks + 1, spec);
    after.SetResiduals(residuals);
    after.member(0).SetAgreed(before.member(1).agreed());
    after.member(0).BeginGroup();
    const std::vector<float> ones(kRanks + 1, 1.0f);
    const Vectors values = ValuesOf(Shape::kNormal, kRanks + 1, kSize, 9);
    const PlainResult expected = PlainReduce({residuals, values, ones}, kK);
    for (const auto& status : after.Reduce(GroupOf(kRanks + 1), values, ones, 4)) {
      ASSERT_OK(status);
    }
    after.Commit();
    EXPECT_EQ(after.delivered(0), expected.delivered);
    EXPECT_EQ(after.Residuals(), expected.residuals);
  }
}

TEST(DensityScheduleTest, AChangedKHoldsFromTheNextStep) {
  SparseMembers members(kRanks, kSpec);
  Step(&members, ValuesOf(Shape::kNormal, kRanks, kSize, 1), 1);
  for (int rank = 0; rank < kRanks; ++rank) ASSERT_OK(members.member(rank).SetK(50));
  Step(&members, ValuesOf(Shape::kNormal, kRanks, kSize, 2), 2);
  EXPECT_EQ(members.delivered(0).size(), 50u);
  EXPECT_THAT(members.member(0).SetK(0), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace rondo
