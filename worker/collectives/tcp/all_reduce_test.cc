// Ring and recursive doubling against their own definitions, bit for bit, and against a sum in
// double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/mix64.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(60);
const CallId kCall = {.round = 3, .attempt_or_step = 1, .phase = Phase::kParameters};
constexpr int64_t kAlwaysRing = -1;
constexpr int64_t kAlwaysDoubling = int64_t{1} << 40;

using Parts = std::vector<std::vector<float>>;

// Part r of n values, from the seed; magnitudes over six decades, so that the order of a sum shows
// in its bits.
Parts RandomParts(int ranks, int64_t n, uint64_t seed) {
  Parts parts(ranks);
  SplitMix64 random(seed);
  for (auto& part : parts) {
    part.resize(n);
    for (float& value : part) {
      const double unit = static_cast<double>(random.Next() >> 11) * 0x1p-53 - 0.5;
      value = static_cast<float>(unit * std::pow(10.0, static_cast<double>(random.Below(6)) - 3));
    }
  }
  return parts;
}

// ring.h: chunk c is summed from rank c onwards.
std::vector<float> RingSum(const Parts& parts) {
  const int64_t ranks = static_cast<int64_t>(parts.size());
  const int64_t n = static_cast<int64_t>(parts[0].size());
  std::vector<float> sum(n);
  for (int64_t c = 0; c < ranks; ++c) {
    for (int64_t i = n * c / ranks; i < n * (c + 1) / ranks; ++i) {
      sum[i] = parts[c][i];
      for (int64_t k = 1; k < ranks; ++k) sum[i] += parts[(c + k) % ranks][i];
    }
  }
  return sum;
}

// doubling.h: fold the first pairs, then a balanced tree over what is left.
std::vector<float> DoublingSum(const Parts& parts) {
  size_t power = 1;
  while (power * 2 <= parts.size()) power *= 2;
  const size_t folded = parts.size() - power;
  Parts level;
  const auto add = [](std::vector<float> low, const std::vector<float>& high) {
    for (size_t i = 0; i < low.size(); ++i) low[i] += high[i];
    return low;
  };
  for (size_t r = 0; r < folded; ++r) level.push_back(add(parts[2 * r], parts[2 * r + 1]));
  for (size_t r = 2 * folded; r < parts.size(); ++r) level.push_back(parts[r]);
  while (level.size() > 1) {
    Parts next;
    for (size_t i = 0; i < level.size(); i += 2) next.push_back(add(level[i], level[i + 1]));
    level = std::move(next);
  }
  return level[0];
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<int64_t> Sizes(int ranks) {
  return {0, 1, ranks - 1, ranks, ranks + 1, 255, 256, 1023, 1024, 16'385, 65'536, 1'000'003};
}

class AllReduceTest : public testing::TestWithParam<int> {
 protected:
  void CheckAllSizes(int64_t doubling_bytes_max, std::vector<float> (*expected_sum)(const Parts&)) {
    const int ranks = GetParam();
    LoopbackSpec spec = {.ranks = ranks};
    spec.options.doubling_bytes_max = doubling_bytes_max;
    ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make(spec));
    for (const int64_t n : Sizes(ranks)) {
      const Parts parts = RandomParts(ranks, n, static_cast<uint64_t>(n + 1));
      const std::vector<float> expected = expected_sum(parts);
      Parts sums = parts;
      const auto statuses = group->Run([&](Communicator& member) {
        return member.AllReduceSum(kCall, DeviceSpan<float>(sums[member.rank()].data(), n), kLimit);
      });
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_OK(statuses[rank]);
        EXPECT_TRUE(SameBits(sums[rank], expected)) << "rank " << rank << ", n " << n;
      }
    }
  }
};

TEST_P(AllReduceTest, RingGivesTheSumInItsDocumentedOrderOnEveryRank) {
  CheckAllSizes(kAlwaysRing, GetParam() == 1 ? DoublingSum : RingSum);
}

TEST_P(AllReduceTest, DoublingGivesTheSumInItsDocumentedOrderOnEveryRank) {
  CheckAllSizes(kAlwaysDoubling, DoublingSum);
}

TEST_P(AllReduceTest, IsTheSumWithinRounding) {
  const int ranks = GetParam();
  for (const int64_t n : {1'000, 100'000}) {
    ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = ranks}));
    const Parts parts = RandomParts(ranks, n, 7);
    Parts sums = parts;
    const auto statuses = group->Run([&](Communicator& member) {
      return member.AllReduceSum(kCall, DeviceSpan<float>(sums[member.rank()].data(), n), kLimit);
    });
    for (const auto& status : statuses) ASSERT_OK(status);
    for (int64_t i = 0; i < n; ++i) {
      double exact = 0;
      double magnitude = 0;
      for (const auto& part : parts) {
        exact += part[i];
        magnitude += std::abs(part[i]);
      }
      // P-1 additions, each within half a unit in the last place of a partial sum.
      ASSERT_NEAR(sums[0][i], exact, ranks * magnitude * 0x1p-24) << i;
    }
  }
}

TEST_P(AllReduceTest, IntegersWrapAndKeepTheirSigns) {
  const int ranks = GetParam();
  ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = ranks}));
  std::vector<std::vector<uint64_t>> counts(ranks, {~uint64_t{0}, uint64_t{1} << 40, 5});
  std::vector<std::vector<int64_t>> signs(ranks, {-3, int64_t{1} << 50});
  const auto statuses = group->Run([&](Communicator& member) {
    absl::Status status = member.AllReduceSum(kCall, std::span(counts[member.rank()]), kLimit);
    status.Update(AllReduceSum(member, kCall, std::span(signs[member.rank()]), kLimit));
    status.Update(member.AllReduceSum(kCall, std::span<uint64_t>(), kLimit));
    return status;
  });
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_OK(statuses[rank]);
    const uint64_t p = static_cast<uint64_t>(ranks);
    EXPECT_EQ(counts[rank],
              (std::vector<uint64_t>{~uint64_t{0} * p, (uint64_t{1} << 40) * p, 5 * p}));
    EXPECT_EQ(signs[rank], (std::vector<int64_t>{-3 * ranks, (int64_t{1} << 50) * ranks}));
  }
}

// The volume that the ring promises, by the backend's own counters.
TEST_P(AllReduceTest, RingSendsTwoTimesPMinusOneOverPOfTheData) {
  const int64_t ranks = GetParam();
  const int64_t n = ranks * 30'000;
  ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = GetParam()}));
  Parts sums = RandomParts(GetParam(), n, 1);
  const auto statuses = group->Run([&](Communicator& member) {
    return member.AllReduceSum(kCall, DeviceSpan<float>(sums[member.rank()].data(), n), kLimit);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_OK(statuses[rank]);
    const TrafficCounters traffic = group->member(rank).Counters();
    const int64_t payload = 2 * (ranks - 1) * n / ranks * 4;
    const int64_t header = 2 * (ranks - 1) * kHeaderBytes;
    EXPECT_EQ(traffic.payload_bytes_sent, payload);
    EXPECT_EQ(traffic.payload_bytes_received, payload);
    EXPECT_EQ(traffic.header_bytes_sent, header);
    EXPECT_EQ(traffic.header_bytes_received, header);
  }
}

TEST_P(AllReduceTest, GivesTheSameBytesAgainInANewGroup) {
  const int ranks = GetParam();
  const int64_t n = 70'001;
  const Parts parts = RandomParts(ranks, n, 11);
  std::vector<Parts> results;
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = ranks}));
    Parts sums = parts;
    const auto statuses = group->Run([&](Communicator& member) {
      return member.AllReduceSum(kCall, DeviceSpan<float>(sums[member.rank()].data(), n), kLimit);
    });
    for (const auto& status : statuses) ASSERT_OK(status);
    results.push_back(sums);
  }
  EXPECT_TRUE(SameBits(results[0][0], results[1][0]));
}

INSTANTIATE_TEST_SUITE_P(Ranks, AllReduceTest, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

}  // namespace
}  // namespace rondo
