#include "kernels/state_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "common/mix64.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/span.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

uint64_t HashOf(const std::vector<float>& values, uint64_t first_index = 0) {
  TestBuffer x({}, values);
  const absl::StatusOr<uint64_t> hash = StateHash(x.span(), first_index);
  EXPECT_OK(hash);
  return hash.value_or(0);
}

class StateHashTest : public KernelTest {};

TEST_P(StateHashTest, IsTheSumOfTheMixedElements) {
  const std::vector<float> values = NormalFloats(size(), 1);
  for (const uint64_t first : {uint64_t{0}, uint64_t{12'345}, (uint64_t{1} << 32) - 7}) {
    uint64_t expected = 0;
    for (size_t i = values.size(); i-- > 0;) {  // Backwards: the sum has no order.
      expected += Mix64((first + i) * (uint64_t{1} << 32) + std::bit_cast<uint32_t>(values[i]));
    }
    TestBuffer x(device(), values);
    ASSERT_OK_AND_ASSIGN(const uint64_t hash, StateHash(x.span(), first));
    EXPECT_EQ(hash, expected);
    EXPECT_EQ(x.Values(), values);
  }
}

TEST_P(StateHashTest, PiecesAddUpToTheWhole) {
  TestBuffer x(device(), NormalFloats(size(), 1));
  ASSERT_OK_AND_ASSIGN(const uint64_t whole, StateHash(x.span(), 100));
  for (int64_t split = 0; split <= size(); split += size() / 40 + 1) {
    ASSERT_OK_AND_ASSIGN(const uint64_t head, StateHash(x.span().Sub(0, split), 100));
    ASSERT_OK_AND_ASSIGN(const uint64_t tail, StateHash(x.span().Sub(split, size() - split),
                                                        100 + static_cast<uint64_t>(split)));
    EXPECT_EQ(head + tail, whole) << "split at " << split;
  }
}

TEST_P(StateHashTest, EveryBitOfAnElementCounts) {
  if (size() == 0) return;
  const std::vector<float> values = NormalFloats(size(), 1);
  TestBuffer x(device(), values);
  ASSERT_OK_AND_ASSIGN(const uint64_t before, StateHash(x.span(), 0));
  const size_t at = values.size() / 2;
  for (int bit = 0; bit < 32; ++bit) {
    std::vector<float> changed = values;
    changed[at] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[at]) ^ (uint32_t{1} << bit));
    TestBuffer y(device(), changed);
    ASSERT_OK_AND_ASSIGN(const uint64_t after, StateHash(y.span(), 0));
    EXPECT_NE(before, after) << "bit " << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, StateHashTest, AllKernelCases());

// Computed apart from this code, with arbitrary-precision integers, from the definition.
TEST(StateHashValueTest, GivesTheValuesOfTheDefinition) {
  EXPECT_EQ(HashOf({}), 0u);
  EXPECT_EQ(HashOf({0.0f}), 0u);
  EXPECT_EQ(HashOf({-0.0f}), 17010196902690978975u);
  EXPECT_EQ(HashOf({1.0f}), 3052579836232902212u);
  EXPECT_EQ(HashOf({1.0f, -2.5f, 0.0f}), 17090980215122323148u);
  EXPECT_EQ(HashOf({1.0f}, 5), 17673668210484681425u);
}

TEST(StateHashValueTest, OneNanDiffersFromAnother) {
  EXPECT_NE(HashOf({std::bit_cast<float>(0x7fc00000u)}),
            HashOf({std::bit_cast<float>(0x7fc00001u)}));
}

TEST(StateHashValueTest, TwoElementsThatChangePlacesChangeTheHash) {
  EXPECT_NE(HashOf({1.0f, 2.0f}), HashOf({2.0f, 1.0f}));
}

TEST(StateHashArgumentsTest, ANullPointerIsRefused) {
  EXPECT_THAT(StateHash({nullptr, 3}, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(StateHashArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  EXPECT_THAT(StateHash({DeviceSpan<float>(&value, 1, {.kind = DeviceKind::kCuda})}, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("cuda")));
}

}  // namespace
}  // namespace rondo
