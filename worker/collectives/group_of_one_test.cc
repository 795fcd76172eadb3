#include "worker/collectives/group_of_one.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/status_matchers.h"

namespace rondo {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(1);
const CallId kCall = {.round = 1, .attempt_or_step = 0, .phase = Phase::kParameters};

template <typename T>
ByteSpan Bytes(std::vector<T>& values) {
  return AsWritableBytes(DeviceSpan<T>(values.data(), static_cast<int64_t>(values.size())));
}

// S88: a single survivor goes on without any backend.
TEST(GroupOfOneTest, LeavesSumsAsTheyAreAndCopiesTheRest) {
  const auto group = MakeGroupOfOne();
  EXPECT_EQ(group->rank(), 0);
  EXPECT_EQ(group->size(), 1);
  std::vector<float> values = {1.5f, -2.0f};
  EXPECT_OK(group->AllReduceSum(kCall, DeviceSpan<float>(values.data(), 2), kLimit));
  EXPECT_EQ(values, (std::vector<float>{1.5f, -2.0f}));
  std::vector<int64_t> counts = {-3};
  EXPECT_OK(AllReduceSum(*group, kCall, counts, kLimit));
  EXPECT_EQ(counts[0], -3);
  std::vector<float> all(2);
  EXPECT_OK(group->AllGather(kCall, Bytes(values), Bytes(all), kLimit));
  EXPECT_EQ(all, values);
  ASSERT_OK_AND_ASSIGN(const auto sizes, ExchangeSizes(*group, kCall, counts, kLimit));
  EXPECT_EQ(sizes, counts);
  EXPECT_OK(group->Broadcast(kCall, 0, Bytes(values), kLimit));
  EXPECT_EQ(group->Counters().payload_bytes_sent, 0);
  EXPECT_EQ(group->Counters().header_bytes_sent, 0);
}

TEST(GroupOfOneTest, TakesEmptySpans) {
  const auto group = MakeGroupOfOne();
  EXPECT_OK(group->AllReduceSum(kCall, DeviceSpan<float>(), kLimit));
  EXPECT_OK(group->AllGather(kCall, ConstByteSpan(), ByteSpan(), kLimit));
  EXPECT_OK(group->Broadcast(kCall, 0, ByteSpan(), kLimit));
}

TEST(GroupOfOneTest, IsBrokenForGoodAfterAWrongCall) {
  const auto group = MakeGroupOfOne();
  EXPECT_THAT(group->Send(kCall, 0, ConstByteSpan(), kLimit),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(group->AllReduceSum(kCall, DeviceSpan<float>(), kLimit),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(GroupOfOneTest, RefusesATimeLimitThatIsNotPositive) {
  const auto group = MakeGroupOfOne();
  EXPECT_THAT(group->AllReduceSum(kCall, DeviceSpan<float>(), absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(GroupOfOneTest, FailsEveryCallAfterAbort) {
  const auto group = MakeGroupOfOne();
  group->Abort();
  EXPECT_THAT(group->AllReduceSum(kCall, DeviceSpan<float>(), kLimit),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
