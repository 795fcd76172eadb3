#include "worker/runtime/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "worker/collectives/group_of_one.h"

namespace rondo::worker {
namespace {

using ::testing::ElementsAre;

TEST(GradientReducerTest, AResultPassedOnBringsWhichTensorsHadAGradient) {
  const std::unique_ptr<Communicator> group = MakeGroupOfOne();
  GradientReducer giver(3, {1, 3});
  GradientReducer taker(3, {1, 3});
  const std::vector<float> values = {1, 2, 4};
  const std::vector<uint8_t> has_gradient = {0, 1};
  const ReducerInput input{{values.data(), 3}, has_gradient, 0.5f};
  ASSERT_TRUE(giver.Reduce({.attempt_or_step = 9}, input, absl::Seconds(1), group.get()).ok());
  EXPECT_THAT(giver.last_has_gradient(), ElementsAre(0, 1));
  EXPECT_EQ(giver.last_step(), 9);
  const DeviceSpan<float> sent = giver.outgoing();
  ASSERT_EQ(sent.size, taker.incoming().size);
  std::copy(sent.data, sent.data + sent.size, taker.incoming().data);
  taker.Accept(9);
  EXPECT_THAT(taker.last_has_gradient(), ElementsAre(0, 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(taker.last_result().data[i], values[i]);
}

TEST(GradientReducerTest, WithoutAnyFactorTheLastResultStays) {
  const std::unique_ptr<Communicator> group = MakeGroupOfOne();
  GradientReducer reducer(1);
  const float value = 7;
  const ReducerInput good{{&value, 1}, {}, 1};
  ASSERT_TRUE(reducer.Reduce({.attempt_or_step = 1}, good, absl::Seconds(1), group.get()).ok());
  const ReducerInput none{{&value, 1}, {}, 0};
  EXPECT_FALSE(reducer.Reduce({.attempt_or_step = 2}, none, absl::Seconds(1), group.get()).ok());
  EXPECT_EQ(reducer.last_step(), 1);
  EXPECT_EQ(reducer.last_result().data[0], 7);
}

}  // namespace
}  // namespace rondo::worker
