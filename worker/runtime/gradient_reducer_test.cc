#include "worker/runtime/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "worker/collectives/group_of_one.h"
#include "worker/core/messages.h"
#include "worker/runtime/error_feedback.h"

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

Order OrderOf(Collective collective, double density) {
  Order order;
  order.mode = Mode::kParallel;
  order.collective = collective;
  order.density = density;
  return order;
}

// What a residual kept for a parameter moves it, though nobody has a gradient for it now.
TEST(GradientReducerTest, ATensorForWhichAResidualIsDeliveredMovesWithoutAGradient) {
  for (const Collective next : {Collective::kSparse, Collective::kRing}) {
    const std::unique_ptr<Communicator> group = MakeGroupOfOne();
    ErrorFeedback feedback(3, {});
    GradientReducer reducer(3, {1, 2, 3}, &feedback);
    ASSERT_TRUE(feedback.BeginOrder(OrderOf(Collective::kSparse, 0.4)).ok());
    const std::vector<float> values = {4, -2, 0};
    const std::vector<uint8_t> both = {1, 1, 0};
    const ReducerInput first{{values.data(), 3}, both, 1};
    ASSERT_TRUE(reducer.Reduce({.attempt_or_step = 1}, first, absl::Seconds(1), group.get()).ok());
    EXPECT_THAT(reducer.last_has_gradient(), ElementsAre(1, 1, 0));
    feedback.Commit();
    ASSERT_TRUE(feedback.BeginOrder(OrderOf(next, 0.4)).ok());
    const std::vector<float> zeros = {0, 0, 0};
    const std::vector<uint8_t> none = {0, 0, 0};
    const ReducerInput second{{zeros.data(), 3}, none, 1};
    ASSERT_TRUE(reducer.Reduce({.attempt_or_step = 2}, second, absl::Seconds(1), group.get()).ok());
    EXPECT_THAT(reducer.last_has_gradient(), ElementsAre(0, 1, 0));
    EXPECT_EQ(reducer.last_result().data[1], -2);
  }
}

TEST(GradientReducerTest, ASparseResultPassedOnFinishesAStepThatFailed) {
  const std::unique_ptr<Communicator> group = MakeGroupOfOne();
  ErrorFeedback giving(3, {});
  ErrorFeedback taking(3, {});
  GradientReducer giver(3, {1, 3}, &giving);
  GradientReducer taker(3, {1, 3}, &taking);
  for (ErrorFeedback* each : {&giving, &taking}) {
    ASSERT_TRUE(each->BeginOrder(OrderOf(Collective::kSparse, 0.4)).ok());
  }
  const std::vector<float> values = {1, -5, 4};
  const std::vector<uint8_t> has_gradient = {0, 1};
  const ReducerInput input{{values.data(), 3}, has_gradient, 1};
  ASSERT_TRUE(giver.Reduce({.attempt_or_step = 9}, input, absl::Seconds(1), group.get()).ok());
  const std::unique_ptr<Communicator> broken = MakeGroupOfOne();
  broken->Abort();
  ASSERT_FALSE(taker.Reduce({.attempt_or_step = 9}, input, absl::Seconds(1), broken.get()).ok());
  EXPECT_FALSE(taker.last_step().has_value());
  taker.incoming_sparse() = giver.OutgoingSparse();
  ASSERT_TRUE(taker.AdoptSparse(9).ok());
  EXPECT_EQ(taker.last_step(), 9);
  EXPECT_THAT(taker.last_has_gradient(), ElementsAre(0, 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(taker.last_result().data[i], i == 1 ? -5 : 0);
  taking.Commit();
  EXPECT_EQ(taking.residual().data[0], 1);
  EXPECT_EQ(taking.residual().data[1], 0);
  EXPECT_EQ(taking.residual().data[2], 4);
}

}  // namespace
}  // namespace rondo::worker
