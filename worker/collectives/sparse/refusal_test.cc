// What members refuse: together and in the same words, or alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/global_cut.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr int64_t kSize = 500;
const std::vector<float> kOnes(kRanks, 1.0f);
const SparseSpec kSpec = {.size = kSize, .k = 50};

void ExpectAll(const std::vector<absl::Status>& statuses, StatusCode code,
               const std::string& part) {
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(code, HasSubstr(part)));
    EXPECT_EQ(status, statuses[0]);
  }
}

// S50.
TEST(NotFiniteTest, OnOneRankGivesAllTheSameErrorAndLeavesTheResiduals) {
  for (const SparseSelect select : {SparseSelect::kExact, SparseSelect::kThreshold}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      SparseSpec spec = kSpec;
      spec.select = select;
      SparseMembers members(kRanks, spec);
      LoopbackGroup& group = GroupOf(kRanks);
      for (uint32_t step = 1; step <= 2; ++step) {
        for (const auto& status :
             members.Reduce(group, ValuesOf(Shape::kNormal, kRanks, kSize, step), kOnes, step)) {
          ASSERT_OK(status);
        }
        members.Commit();
      }
      const Vectors residuals = members.Residuals();
      Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, 3);
      const Vectors good = values;
      values[2][123] = bad;
      ExpectAll(members.Reduce(group, values, kOnes, 3), StatusCode::kDataLoss, "rank 2");
      members.Commit();  // nothing is staged
      EXPECT_EQ(members.Residuals(), residuals);
      // The group still works, and the step can be made without the bad member.
      std::vector<float> factors = kOnes;
      factors[2] = 0;
      for (const auto& status : members.Reduce(group, values, factors, 3)) ASSERT_OK(status);
      members.Commit();
      const PlainResult expected = PlainReduce({residuals, good, factors}, kSpec.k);
      if (select == SparseSelect::kExact) {
        EXPECT_EQ(members.Residuals(), expected.residuals);
      }
      EXPECT_EQ(members.Residuals()[2], residuals[2]);
    }
  }
}

TEST(NotFiniteTest, AllBadMembersAreNamed) {
  SparseMembers members(kRanks, kSpec);
  Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, 1);
  values[0][0] = values[3][kSize - 1] = std::numeric_limits<float>::infinity();
  ExpectAll(members.Reduce(GroupOf(kRanks), values, kOnes, 1), StatusCode::kDataLoss,
            "rank 0, 3 are not finite");
}

TEST(NotFiniteTest, ASumThatOverflowsIsRefusedByAll) {
  SparseMembers members(kRanks, kSpec);
  Vectors values(kRanks, std::vector<float>(kSize, 0.0f));
  for (auto& of_rank : values) of_rank[77] = std::numeric_limits<float>::max();
  ExpectAll(members.Reduce(GroupOf(kRanks), values, kOnes, 1), StatusCode::kDataLoss, "index 77");
  members.Commit();
  EXPECT_EQ(members.Residuals(), Vectors(kRanks, std::vector<float>(kSize, 0.0f)));
}

TEST(ExclusionTest, OfEverybodyIsRefusedByAll) {
  SparseMembers members(kRanks, kSpec);
  ExpectAll(members.Reduce(GroupOf(kRanks), ValuesOf(Shape::kNormal, kRanks, kSize, 1),
                           std::vector<float>(kRanks, 0.0f), 1),
            StatusCode::kDataLoss, "no member");
}

// S51.
TEST(DisagreementTest, AboutKIsRefusedByAllWithBothValues) {
  SparseMembers members(kRanks, kSpec);
  ASSERT_OK(members.member(1).SetK(51));
  ExpectAll(members.Reduce(GroupOf(kRanks), ValuesOf(Shape::kNormal, kRanks, kSize, 1), kOnes, 1),
            StatusCode::kInvalidArgument, "rank 1 selects 51 of 500 elements and rank 0 50 of 500");
}

TEST(DisagreementTest, AboutTheSettingsIsRefusedByAll) {
  std::vector<SparseSpec> specs(4, kSpec);
  specs[0].select = SparseSelect::kThreshold;
  specs[1].cuts_every = 7;
  specs[2].window = 2;
  specs[3].imbalance_percent = 120;
  const auto group = NewGroupOf(2);
  const std::vector<float> values(kSize, 1.0f);
  for (const SparseSpec& spec : specs) {
    ASSERT_OK_AND_ASSIGN(const auto plain, SparseAllReduce::Make(kSpec, nullptr));
    ASSERT_OK_AND_ASSIGN(const auto other, SparseAllReduce::Make(spec, nullptr));
    ExpectAll(group->Run([&](Communicator& member) {
      std::vector<float> mean(kSize);
      return (member.rank() == 0 ? plain : other)
          ->Reduce({.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients},
                   {.values = {values.data(), kSize}}, {mean.data(), kSize}, absl::Seconds(60),
                   &member);
    }),
              StatusCode::kInvalidArgument, "rank 1 is set up in another way");
  }
}

TEST(SpecTest, RefusesWhatCannotWork) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument);
  EXPECT_THAT(SparseAllReduce::Make({.size = 10, .k = 0}, nullptr), refused);
  EXPECT_THAT(SparseAllReduce::Make({.size = -1, .k = 1}, nullptr), refused);
  EXPECT_THAT(SparseAllReduce::Make({.size = kSparseSizeMax + 1, .k = 1}, nullptr),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("dense ring")));
  EXPECT_THAT(SparseAllReduce::Make({.size = 10, .k = 1, .imbalance_percent = 201}, nullptr),
              refused);
  EXPECT_THAT(SparseAllReduce::Make({.size = 10, .k = 1, .cuts_every = 0}, nullptr), refused);
}

// Before room is made for it.
TEST(CutTest, CountsThatNoListHasAreRefused) {
  for (const CutCount& wrong : {CutCount{-1, 0}, CutCount{0, int64_t{1} << 60}}) {
    const auto group = NewGroupOf(2);
    const auto statuses = group->Run([&](Communicator& member) -> absl::Status {
      const CallId call{.round = 1, .attempt_or_step = 1, .phase = Phase::kSparseThreshold};
      if (member.rank() == 0) {
        return ShareCut(&member, call, {}, {.key = 1, .ties = 5}, absl::Seconds(60)).status();
      }
      std::vector<CutCount> all(2);
      return member.AllGather(call, AsBytes(DeviceSpan<const CutCount>(&wrong, 1)),
                              AsWritableBytes(DeviceSpan<CutCount>(all.data(), 2)),
                              absl::Seconds(60));
    });
    EXPECT_THAT(statuses[0], StatusIs(StatusCode::kInvalidArgument, HasSubstr("rank 1 has")));
  }
}

// A caller's mistake on one rank ends the call of the others, who are in it already.
TEST(InputTest, AWrongSizeOrFactorBreaksTheGroup) {
  for (const bool wrong_factor : {false, true}) {
    SparseMembers members(2, {.size = 10, .k = 2});
    const auto group = NewGroupOf(2);
    Vectors values(2, std::vector<float>(10, 1.0f));
    std::vector<float> factors = {1, 1};
    if (wrong_factor) factors[0] = -1;
    if (!wrong_factor) values[0].pop_back();
    const auto statuses = members.Reduce(*group, values, factors, 1);
    EXPECT_THAT(statuses[0], StatusIs(StatusCode::kInvalidArgument));
    EXPECT_THAT(statuses[1], StatusIs(StatusCode::kUnavailable));
  }
}

}  // namespace
}  // namespace rondo
