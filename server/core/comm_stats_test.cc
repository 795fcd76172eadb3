#include "server/core/comm_stats.h"

#include <gtest/gtest.h>

#include <optional>

namespace rondo::server {
namespace {

// Two reductions of two members: 6 and 10 entries given, 4 and 12 received for their regions.
CommitRecord SparseCommit() {
  CommitRecord commit;
  commit.collective = Collective::kSparse;
  commit.contributors = {"a", "b"};
  commit.residual_norm_squared = 9;
  commit.bytes_sent = 180;
  commit.reduce_seconds = 3;
  commit.reductions = 2;
  commit.costs = {
      {CostPhase::kSelect, 0, 0, 0, 0.5, 2},    {CostPhase::kAgree, 20, 20, 0, 0.1, 2},
      {CostPhase::kSplit, 64, 64, 8, 0.2, 2},   {CostPhase::kThreshold, 16, 16, 0, 0.1, 6},
      {CostPhase::kGather, 80, 80, 8, 0.25, 2}, {CostPhase::kBuffers, 4, 4, 1, 0.1, 1}};
  commit.sparse = SparseStats{.reductions = 2,
                              .selected = 16,
                              .region_entries = 16,
                              .merged = 14,
                              .delivered = 12,
                              .cuts = 1,
                              .rebalanced = 2};
  commit.largest_region = 12;
  return commit;
}

TEST(SummaryTest, MeansAreOverReductionsAndMembers) {
  const std::optional<SparseSummary> summary = SummaryOf(SparseCommit());
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->reductions, 2u);
  EXPECT_EQ(summary->entries_selected, 4);
  EXPECT_EQ(summary->entries_delivered, 6);
  EXPECT_EQ(summary->imbalance, 1.5);  // 12 against a mean of 8.
  EXPECT_EQ(summary->select_seconds, 0.5);
  EXPECT_EQ(summary->residual_norm, 3);
  EXPECT_EQ(summary->entry_bytes_sent, 144u);
  EXPECT_EQ(summary->control_bytes_sent, 36u);  // Buffers are no part of it.
  EXPECT_EQ(summary->cuts, 1u);
  EXPECT_EQ(summary->rebalanced, 2u);
}

TEST(SummaryTest, ADenseRoundHasNone) { EXPECT_FALSE(SummaryOf(CommitRecord{}).has_value()); }

TEST(SummaryTest, NothingReceivedIsNoImbalance) {
  CommitRecord commit;
  commit.sparse = SparseStats{};
  EXPECT_EQ(SummaryOf(commit)->imbalance, 0);
  EXPECT_EQ(SummaryOf(commit)->entries_selected, 0);
}

TEST(CommStatsTest, AddsUpByCollectiveAndPhase) {
  CommitRecord dense;
  dense.bytes_sent = 1000;
  dense.reductions = 1;
  dense.reduce_seconds = 2;
  dense.costs = {{CostPhase::kReduceScatter, 1000, 1000, 10, 2, 1}};
  CommStats stats;
  stats.Add(dense);
  stats.Add(SparseCommit());
  stats.Add(SparseCommit());
  ASSERT_EQ(stats.totals().size(), 2u);
  EXPECT_EQ(stats.totals()[0].collective, Collective::kRing);
  EXPECT_EQ(stats.totals()[0].bytes_sent, 1000u);
  const CollectiveTotals& sparse = stats.totals()[1];
  EXPECT_EQ(sparse.rounds, 2u);
  EXPECT_EQ(sparse.reductions, 4u);
  EXPECT_EQ(sparse.reduce_seconds, 6);
  EXPECT_EQ(sparse.entries_selected, 16);  // Four reductions of a mean of 4.
  EXPECT_EQ(sparse.imbalance, 3);
  ASSERT_EQ(sparse.costs.size(), 6u);  // A phase is there once.
  const PhaseCost& split = sparse.costs[2];
  EXPECT_EQ(split.phase, CostPhase::kSplit);
  EXPECT_EQ(split.bytes_sent, 128u);
  EXPECT_EQ(split.calls, 4u);
  EXPECT_EQ(split.seconds, 0.4);
}

}  // namespace
}  // namespace rondo::server
