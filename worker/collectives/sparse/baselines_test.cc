// The dense ring and all-gather of everybody's top k, behind the same interface.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/dense_reduction.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"
#include "worker/collectives/sparse/topk_gather.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {
namespace {

constexpr int64_t kSize = 1000;
constexpr int64_t kK = 30;
constexpr absl::Duration kLimit = absl::Seconds(60);

using Reductions = std::vector<std::unique_ptr<Reduction>>;

std::vector<absl::Status> ReduceAll(LoopbackGroup& group, const Reductions& reductions,
                                    const Vectors& values, const std::vector<float>& factors,
                                    Vectors* means) {
  means->assign(values.size(), std::vector<float>(kSize, 7.0f));
  return group.Run([&](Communicator& member) {
    const auto rank = static_cast<size_t>(member.rank());
    return reductions[rank]->Reduce(
        {.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients},
        {.values = {values[rank].data(), kSize}, .factor = factors[rank]},
        {(*means)[rank].data(), kSize}, kLimit, &member);
  });
}

class BaselinesTest : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  std::vector<float> Factors() const {
    std::vector<float> factors(static_cast<size_t>(ranks()), 1.0f);
    if (ranks() > 2) factors[1] = 0;
    return factors;
  }
};

TEST_P(BaselinesTest, TopkGatherDeliversEverybodysTop) {
  Reductions reductions;
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSERT_OK_AND_ASSIGN(auto made, TopkGather::Make(kSize, kK, nullptr));
    reductions.push_back(std::move(made));
  }
  Vectors residuals(static_cast<size_t>(ranks()), std::vector<float>(kSize, 0.0f));
  const std::vector<float> factors = Factors();
  for (uint32_t step = 1; step <= 3; ++step) {
    const Vectors values = ValuesOf(Shape::kTied, ranks(), kSize, step);
    const Vectors a = Accumulated({residuals, values, factors});
    std::vector<float> sum(kSize, 0.0f);
    float factor_sum = 0;
    for (size_t rank = 0; rank < a.size(); ++rank) {
      residuals[rank] = a[rank];
      factor_sum += factors[rank];
      if (factors[rank] == 0) continue;
      for (const auto& [index, value] : TopBySort(a[rank], kK)) {
        sum[static_cast<size_t>(index)] += value;
        residuals[rank][static_cast<size_t>(index)] = 0;
      }
    }
    for (float& x : sum) x /= factor_sum;
    Vectors means;
    for (const auto& status : ReduceAll(GroupOf(ranks()), reductions, values, factors, &means)) {
      ASSERT_OK(status);
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto at = static_cast<size_t>(rank);
      EXPECT_EQ(means[at], sum);
      reductions[at]->Commit();
      const DeviceSpan<float> kept = reductions[at]->residual();
      EXPECT_EQ(std::vector<float>(kept.data, kept.data + kept.size), residuals[at]);
    }
  }
}

TEST_P(BaselinesTest, DenseGivesTheMeanOfThoseWhoTakePart) {
  Reductions reductions;
  for (int rank = 0; rank < ranks(); ++rank) {
    reductions.push_back(std::make_unique<DenseReduction>(kSize));
  }
  const Vectors values = ValuesOf(Shape::kNormal, ranks(), kSize, 1);
  const std::vector<float> factors = Factors();
  Vectors means;
  for (const auto& status : ReduceAll(GroupOf(ranks()), reductions, values, factors, &means)) {
    ASSERT_OK(status);
  }
  for (int64_t i = 0; i < kSize; ++i) {
    double sum = 0, weight = 0;
    for (size_t rank = 0; rank < values.size(); ++rank) {
      sum += double{factors[rank]} * double{values[rank][static_cast<size_t>(i)]};
      weight += double{factors[rank]};
    }
    // At most P + 1 roundings of values below 8 P.
    ASSERT_NEAR(means[0][static_cast<size_t>(i)], sum / weight, 1e-5);
  }
  for (const auto& mean : means) EXPECT_EQ(mean, means[0]);
}

// A switch from sparse to dense: what had not been delivered goes with the next input, and is gone
// once that is committed, not before.
TEST_P(BaselinesTest, DenseDeliversAResidualOnce) {
  Reductions reductions;
  const std::vector<float> quarter(kSize, 0.25f);
  for (int rank = 0; rank < ranks(); ++rank) {
    auto dense = std::make_unique<DenseReduction>(kSize);
    dense->SetResidual({quarter.data(), kSize});
    reductions.push_back(std::move(dense));
  }
  const Vectors values(static_cast<size_t>(ranks()), std::vector<float>(kSize, 1.0f));
  const std::vector<float> ones(static_cast<size_t>(ranks()), 1.0f);
  Vectors means;
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const auto& status : ReduceAll(GroupOf(ranks()), reductions, values, ones, &means)) {
      ASSERT_OK(status);
    }
    EXPECT_NEAR(means[0][17], 1.25f, 1e-6);
  }
  for (const auto& reduction : reductions) reduction->Commit();
  for (const auto& status : ReduceAll(GroupOf(ranks()), reductions, values, ones, &means)) {
    ASSERT_OK(status);
  }
  EXPECT_NEAR(means[0][17], 1.0f, 1e-6);
  EXPECT_EQ(reductions[0]->residual().size, 0);
}

// Small numbers that travel with a reduction, whatever its kind.
TEST_P(BaselinesTest, ExtrasBecomeTheirSums) {
  for (const std::string kind : {"dense", "topk", "sparse"}) {
    Vectors extras, means(static_cast<size_t>(ranks()), std::vector<float>(kSize));
    for (int rank = 0; rank < ranks(); ++rank) {
      extras.push_back({1.0f, static_cast<float>(rank), rank == 0 ? 1.0f : 0.0f});
    }
    const Vectors values = ValuesOf(Shape::kNormal, ranks(), kSize, 1);
    const auto statuses = GroupOf(ranks()).Run([&](Communicator& member) -> absl::Status {
      std::unique_ptr<Reduction> reduction = std::make_unique<DenseReduction>(kSize);
      if (kind == "topk") reduction = *TopkGather::Make(kSize, kK, nullptr);
      if (kind == "sparse") reduction = *SparseAllReduce::Make({.size = kSize, .k = kK}, nullptr);
      const auto rank = static_cast<size_t>(member.rank());
      return reduction->Reduce({.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients},
                               {.values = {values[rank].data(), kSize}, .extras = extras[rank]},
                               {means[rank].data(), kSize}, kLimit, &member);
    });
    for (int rank = 0; rank < ranks(); ++rank) {
      ASSERT_OK(statuses[static_cast<size_t>(rank)]);
      const auto p = static_cast<float>(ranks());
      EXPECT_EQ(extras[static_cast<size_t>(rank)], (std::vector<float>{p, p * (p - 1) / 2, 1.0f}))
          << kind;
    }
  }
}

TEST_P(BaselinesTest, NobodyTakingPartIsAnErrorForAll) {
  for (const bool dense : {false, true}) {
    Reductions reductions;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (dense) {
        reductions.push_back(std::make_unique<DenseReduction>(kSize));
      } else {
        ASSERT_OK_AND_ASSIGN(auto made, TopkGather::Make(kSize, kK, nullptr));
        reductions.push_back(std::move(made));
      }
    }
    const std::vector<float> zeros(static_cast<size_t>(ranks()), 0.0f);
    Vectors means;
    for (const auto& status :
         ReduceAll(GroupOf(ranks()), reductions, ValuesOf(Shape::kNormal, ranks(), kSize, 1), zeros,
                   &means)) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BaselinesTest, testing::Values(1, 2, 3, 8));

TEST(TopkGatherTest, SendsTwoKToEachPeer) {
  for (const int ranks : {2, 5}) {
    Reductions reductions;
    std::vector<TopkGather*> gathers;
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_OK_AND_ASSIGN(auto made, TopkGather::Make(kSize, kK, nullptr));
      gathers.push_back(made.get());
      reductions.push_back(std::move(made));
    }
    Vectors means;
    const std::vector<float> ones(static_cast<size_t>(ranks), 1.0f);
    for (const auto& status : ReduceAll(GroupOf(ranks), reductions,
                                        ValuesOf(Shape::kNormal, ranks, kSize, 1), ones, &means)) {
      ASSERT_OK(status);
    }
    EXPECT_EQ(gathers[0]->report().entry_bytes_sent(), 8 * kK * (ranks - 1));
  }
}

}  // namespace
}  // namespace rondo
