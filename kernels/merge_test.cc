#include "kernels/merge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/merge_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"

namespace rondo {
namespace {

using Lists = std::vector<std::vector<PlainEntry>>;

// Sums in the order of the lists, by a map.
std::vector<PlainEntry> PlainSum(const Lists& lists) {
  std::map<int64_t, float> sums;
  for (const auto& list : lists) {
    for (const auto& [index, value] : list) sums[index] += value;  // 0 + x is x
  }
  std::vector<PlainEntry> entries;
  for (const auto& [index, value] : sums) {
    if (value != 0) entries.push_back({index, value});
  }
  return entries;
}

absl::StatusOr<std::vector<PlainEntry>> Merge(const Lists& lists, int64_t first, int64_t end) {
  std::vector<PlainEntry> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  SparseEntries entries = EntriesOf(all);
  const auto size = static_cast<int64_t>(entries.size());
  SparseEntries scratch(entries.size());
  const auto count = MergeEntries({.entries = {entries.data(), size},
                                   .scratch = {scratch.data(), size},
                                   .first_index = first,
                                   .end_index = end});
  if (!count.ok()) return count.status();
  return PlainOf(entries.data(), *count);
}

TEST(MergeTest, SumsInTheOrderOfTheListsBitForBit) {
  for (const int64_t range : {1, 7, 300, 2048, 2049, 5'000'000}) {
    for (const int lists : {1, 2, 3, 13}) {
      const int64_t first = 12'345;
      std::mt19937 generator(static_cast<uint32_t>(range + lists));
      Lists some;
      for (int list = 0; list < lists; ++list) {
        std::map<int64_t, float> entries;
        for (int i = 0; i < 400; ++i) {
          const int64_t index = first + static_cast<int64_t>(generator() % range);
          entries[index] = OneOf(i % 2 == 0 ? Shape::kHeavyTailed : Shape::kTied, &generator);
        }
        some.push_back({entries.begin(), entries.end()});
      }
      ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> sum, Merge(some, first, first + range));
      ASSERT_EQ(sum, PlainSum(some)) << "range " << range << ", lists " << lists;
    }
  }
}

// 1e8 + 1 - 1e8 is 0 in this order and 1 in another.
TEST(MergeTest, TheOrderOfTheListsDecides) {
  const Lists lists = {{{4, 1e8f}}, {{4, 1.0f}}, {{4, -1e8f}}, {{4, 3.0f}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> sum, Merge(lists, 0, 5));
  EXPECT_EQ(sum, (std::vector<PlainEntry>{{4, 3.0f}}));
}

TEST(MergeTest, LeavesOutWhatCancelsExactly) {
  const Lists lists = {{{1, 2.0f}, {2, 5.0f}}, {{1, -2.0f}, {3, 1.0f}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> sum, Merge(lists, 0, 4));
  EXPECT_EQ(sum, (std::vector<PlainEntry>{{2, 5.0f}, {3, 1.0f}}));
}

TEST(MergeTest, TakesEmptyListsAndNone) {
  ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> none, Merge({}, 0, 0));
  EXPECT_TRUE(none.empty());
  ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> one, Merge({{}, {{3, 1.0f}}, {}}, 3, 4));
  EXPECT_EQ(one, (std::vector<PlainEntry>{{3, 1.0f}}));
}

// S56: the last indices that 32 bits hold.
TEST(MergeTest, ReachesTheLastIndex) {
  const int64_t last = kSparseSizeMax - 1;
  const Lists lists = {{{0, 1.0f}, {last - 1, 2.0f}, {last, 3.0f}},
                       {{1 << 24, 1.0f}, {last, 4.0f}}};
  ASSERT_OK_AND_ASSIGN(const std::vector<PlainEntry> sum, Merge(lists, 0, kSparseSizeMax));
  EXPECT_EQ(sum,
            (std::vector<PlainEntry>{{0, 1.0f}, {1 << 24, 1.0f}, {last - 1, 2.0f}, {last, 7.0f}}));
}

TEST(MergeTest, RefusesAnIndexOutsideItsRange) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("outside"));
  EXPECT_THAT(Merge({{{9, 1.0f}, {20, 1.0f}}}, 10, 30), refused);
  EXPECT_THAT(Merge({{{20, 1.0f}, {30, 1.0f}}}, 10, 30), refused);
  EXPECT_THAT(Merge({{{0, 1.0f}}}, 0, 0), refused);
  EXPECT_THAT(Merge({{{20, 1.0f}}}, 30, 10), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MergeTest, ABuildWithoutCudaRefusesAGpuSpan) {
  SparseEntry entry = {};
  const DeviceSpan<SparseEntry> span(&entry, 1, {.kind = DeviceKind::kCuda});
  EXPECT_THAT(MergeEntries({span, span, 0, 1}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
