#include "server/core/link_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "server/core/control_bytes.h"
#include "server/core/plan.h"

namespace rondo {
namespace {

constexpr int64_t kParameters = 25'000'000;
constexpr int64_t kEntries = 250'000;  // 1 %.

TEST(SparseBytesTest, AreFourSharesOfTheEntriesAndNeverMoreThanSix) {
  EXPECT_EQ(SparseBytesPerSync(1, 100), 0);
  EXPECT_EQ(SparseBytesPerSync(2, 100), 800);
  EXPECT_EQ(SparseBytesPerSync(4, 100), 1200);
  for (int64_t workers = 2; workers < 200; ++workers) {
    EXPECT_LT(SparseBytesPerSync(workers, 100), SparseBytesMost(workers, 100));
  }
}

TEST(SparseBytesTest, TheGatherTiesWithTwoMembersAndSendsMoreFromThreeOn) {
  EXPECT_EQ(GatherBytesPerSync(2, 100), SparseBytesPerSync(2, 100));
  EXPECT_GT(GatherBytesPerSync(3, 100), SparseBytesPerSync(3, 100));
}

TEST(LinkCostTest, OneMemberSendsNothing) {
  EXPECT_EQ(RingSyncSeconds(1, kParameters, {}), 0);
  EXPECT_EQ(SparseSyncSeconds(1, kEntries, {.select_seconds = 0.5}), 0.5);
}

TEST(LinkCostTest, ASlowLinkIsBoundByItsBytes) {
  const LinkModel slow = {.bytes_per_second = 12.5e6, .message_seconds = 0, .select_seconds = 0.05};
  EXPECT_NEAR(RingSyncSeconds(8, kParameters, slow), 2 * 7.0 / 8 * 4 * 25e6 / 12.5e6, 1e-9);
  const auto integers = static_cast<double>(SparseControlBytesInTurn(8));
  EXPECT_NEAR(SparseSyncSeconds(8, kEntries, slow),
              (4 * 7.0 / 8 * 4 * 25e4 + integers) / 12.5e6 + 0.05, 1e-9);
}

TEST(LinkCostTest, PaysWhereItSavesMoreThanItComputes) {
  const LinkModel slow = {.bytes_per_second = 12.5e6, .select_seconds = 0.05};
  const std::optional<PayingWorkers> always = PaysWithWorkers(kParameters, kEntries, slow);
  ASSERT_TRUE(always.has_value());
  EXPECT_EQ(always->from, 2);
  EXPECT_EQ(always->to, std::nullopt);
  const LinkModel fast = {.bytes_per_second = 1e12, .select_seconds = 0.05};
  EXPECT_FALSE(PaysWithWorkers(kParameters, kEntries, fast).has_value());
  // In between it needs more members, whose rings send more.
  const LinkModel medium = {
      .bytes_per_second = 1.25e9, .message_seconds = 0, .select_seconds = 0.1};
  const std::optional<PayingWorkers> larger = PaysWithWorkers(kParameters, kEntries, medium);
  ASSERT_TRUE(larger.has_value());
  EXPECT_GT(larger->from, 2);
  EXPECT_LT(SparseSyncSeconds(larger->from, kEntries, medium),
            RingSyncSeconds(larger->from, kParameters, medium));
  EXPECT_GE(SparseSyncSeconds(larger->from - 1, kEntries, medium),
            RingSyncSeconds(larger->from - 1, kParameters, medium));
}

TEST(LinkCostTest, ASmallVectorPaysOnlyWithFewMembers) {
  const LinkModel slow = {.bytes_per_second = 12.5e6};
  const std::optional<PayingWorkers> paying = PaysWithWorkers(20'000, 200, slow);
  ASSERT_TRUE(paying.has_value());
  ASSERT_TRUE(paying->to.has_value());
  EXPECT_LT(SparseSyncSeconds(*paying->to, 200, slow), RingSyncSeconds(*paying->to, 20'000, slow));
  for (int64_t workers = *paying->to + 1; workers <= kWorkersTried; ++workers) {
    ASSERT_GE(SparseSyncSeconds(workers, 200, slow), RingSyncSeconds(workers, 20'000, slow));
  }
}

TEST(LinkCostTest, TheHistogramsOfAVerySmallVectorAreMoreThanTheRing) {
  EXPECT_EQ(PaysUpTo(4, 6000, 60, {.message_seconds = 0, .select_seconds = 0}), 0);
  EXPECT_FALSE(PaysWithWorkers(3000, 30, {.message_seconds = 0}).has_value());
}

TEST(LinkCostTest, TheSpeedUpToWhichItPaysIsWhereBothTakeTheSameTime) {
  LinkModel link = {.message_seconds = 1e-4, .select_seconds = 0.05};
  link.bytes_per_second = PaysUpTo(4, kParameters, kEntries, link);
  EXPECT_NEAR(SparseSyncSeconds(4, kEntries, link), RingSyncSeconds(4, kParameters, link), 1e-9);
}

TEST(LinkCostTest, ItNeverPaysWhereItSendsMore) {
  EXPECT_EQ(PaysUpTo(4, 1000, 600, {}), 0);
  EXPECT_EQ(PaysUpTo(1, 1000, 10, {}), 0);
  EXPECT_TRUE(std::isinf(PaysUpTo(4, 100'000, 1000, {.message_seconds = 0, .select_seconds = 0})));
  EXPECT_FALSE(PaysWithWorkers(1000, 600, {}).has_value());
}

}  // namespace
}  // namespace rondo
