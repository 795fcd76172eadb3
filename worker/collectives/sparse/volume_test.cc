// How much a member sends, by the transport's own byte counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"
#include "worker/collectives/sparse/sparse_report.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {
namespace {

constexpr double kWord = 4;

// One step of all, committed. What the reports say is what the transport counted.
void Step(SparseMembers* members, const Vectors& values, int64_t step) {
  LoopbackGroup& group = GroupOf(members->size());
  std::vector<TrafficCounters> before;
  for (int rank = 0; rank < members->size(); ++rank) {
    before.push_back(group.member(rank).Counters());
  }
  const std::vector<float> ones(values.size(), 1.0f);
  for (const auto& status : members->Reduce(group, values, ones, step)) ASSERT_OK(status);
  members->Commit();
  for (int rank = 0; rank < members->size(); ++rank) {
    const SparseReport& report = members->member(rank).report();
    ASSERT_EQ(report.entry_bytes_sent() + report.control_bytes_sent(),
              group.member(rank).Counters().payload_bytes_sent - before[rank].payload_bytes_sent);
  }
}

double WordsSent(SparseMembers* members, int rank) {
  return static_cast<double>(members->member(rank).report().entry_bytes_sent()) / kWord;
}
double MeanWordsSent(SparseMembers* members) {
  double sum = 0;
  for (int rank = 0; rank < members->size(); ++rank) sum += WordsSent(members, rank);
  return sum / members->size();
}

class VolumeTest : public testing::TestWithParam<SparseSelect> {};

TEST_P(VolumeTest, AlikeWorkersSendFourKTimesThePeersShare) {
  constexpr int64_t kSize = 200'000;
  constexpr int64_t kK = 4000;
  for (const int ranks : {2, 4, 8}) {
    SparseMembers members(ranks, {.size = kSize, .k = kK, .select = GetParam()});
    for (uint32_t step = 1; step <= 4; ++step) {
      Step(&members, ValuesOf(Shape::kNormal, ranks, kSize, step), step);
      const double expected = 4.0 * kK * (ranks - 1) / ranks;
      if (GetParam() == SparseSelect::kExact) {
        EXPECT_NEAR(MeanWordsSent(&members), expected, expected / 100);
      }
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(WordsSent(&members, rank), expected * 1.06) << "rank " << rank;
      }
    }
  }
}

// Data made to break the bound: everything in one region, regions from another step, residuals
// that grow, workers that have nothing in common, winners that all lie with one rank.
Vectors Hostile(int kind, int ranks, int64_t size, uint32_t step) {
  Vectors values = ValuesOf(Shape::kHeavyTailed, ranks, size, step);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float>& v = values[static_cast<size_t>(rank)];
    for (int64_t i = 0; i < size; ++i) {
      float& x = v[static_cast<size_t>(i)];
      const int64_t tenth = i * 10 / size;
      if (kind == 0 && tenth != step % 10) x *= 1e-6f;            // moves every step
      if (kind == 1 && i * ranks / size != rank) x = 0;           // each its own part
      if (kind == 2) x = 1.0f + 1e-3f * x;                        // residuals grow alike
      if (kind == 3 && i * ranks / size == ranks - 1) x *= 1e4f;  // all winners with the last
      if (kind == 4) x *= step % 2 == 0 ? 1e5f : 1e-5f;           // thresholds always stale
    }
  }
  return values;
}

TEST_P(VolumeTest, NobodyEverSendsMoreThanSixK) {
  constexpr int64_t kSize = 20'000;
  constexpr int64_t kK = 500;
  for (const int ranks : {2, 3, 8}) {
    for (int kind = 0; kind < 5; ++kind) {
      SparseMembers members(ranks, {.size = kSize,
                                    .k = kK,
                                    .select = GetParam(),
                                    .local_threshold_every = 4,
                                    .global_threshold_every = 4});
      for (uint32_t step = 1; step <= 10; ++step) {
        Step(&members, Hostile(kind, ranks, kSize, step), step);
        for (int rank = 0; rank < ranks; ++rank) {
          ASSERT_LE(WordsSent(&members, rank), 6.0 * kK)
              << "kind " << kind << ", step " << step << ", rank " << rank << " of " << ranks;
          ASSERT_LE(members.member(rank).report().selected, kK);
          ASSERT_LE(members.member(rank).report().delivered, kK);
        }
      }
    }
  }
}

TEST_P(VolumeTest, DoesNotGrowWithTheGroup) {
  constexpr int64_t kSize = 100'000;
  constexpr int64_t kK = 2000;
  std::vector<double> words;
  for (const int ranks : {4, 32}) {
    SparseMembers members(ranks, {.size = kSize, .k = kK, .select = GetParam()});
    words.push_back(0);
    for (uint32_t step = 1; step <= 2; ++step) {
      Step(&members, ValuesOf(Shape::kNormal, ranks, kSize, step), step);
      words.back() = std::max(words.back(), MeanWordsSent(&members));
    }
  }
  EXPECT_LE(words[1], 1.35 * words[0]);  // (31/32) / (3/4) = 1.29
}

INSTANTIATE_TEST_SUITE_P(Modes, VolumeTest,
                         testing::Values(SparseSelect::kExact, SparseSelect::kThreshold));

// Headers, and the integers that steer the reduction, which are counted apart.
TEST(OverheadTest, HeadersAreLessThanATwentiethForALargeK) {
  constexpr int64_t kSize = 1'000'000;
  constexpr int64_t kK = 100'000;
  for (const int ranks : {2, 4}) {
    SparseMembers members(ranks, {.size = kSize, .k = kK});
    Step(&members, ValuesOf(Shape::kNormal, ranks, kSize, 1), 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const SparseReport& report = members.member(rank).report();
      int64_t headers = 0;
      for (const StageCost& cost : report.costs) headers += cost.traffic.header_bytes_sent;
      EXPECT_LE(headers * 20, report.entry_bytes_sent());
      EXPECT_GT(headers, 0);
      EXPECT_GT(report.control_bytes_sent(), 0);
    }
  }
}

}  // namespace
}  // namespace rondo
