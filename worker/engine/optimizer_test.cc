#include "worker/engine/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status_matchers.h"

namespace rondo {
namespace {

Layout TwoLayers() {
  Layout layout;
  Layout::Append(&layout.parameters, "fc1.weight", {2, 1});
  Layout::Append(&layout.parameters, "fc1.bias", {1});
  Layout::Append(&layout.parameters, "fc2.weight", {1});
  return layout;
}

struct Flat {
  std::vector<float> parameters = {1, 2, 3, 4};
  std::vector<float> gradients = {0.5, 0.5, 0.5, 0.5};
  DeviceSpan<float> p() { return {parameters.data(), 4}; }
  DeviceSpan<float> g() { return {gradients.data(), 4}; }
};

std::unique_ptr<Optimizer> Make(const OptimizerOptions& options) {
  return std::move(Optimizer::Create(options, TwoLayers())).value();
}

TEST(OptimizerTest, SgdWithMomentumFollowsItsFormula) {
  Flat flat;
  const auto optimizer = Make({.momentum = 0.5});
  ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.1));
  ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.1));
  // Velocities 0.5 and 0.75.
  EXPECT_NEAR(flat.parameters[0], 1 - 0.1 * 0.5 - 0.1 * 0.75, 1e-6);
  EXPECT_EQ(optimizer->step_count(), 2);
  ASSERT_EQ(optimizer->moments().size(), 1u);
  EXPECT_EQ(optimizer->moments()[0].data[3], 0.75f);
}

TEST(OptimizerTest, AdamwFirstStepMovesByTheRate) {
  Flat flat;
  const auto optimizer = Make({.kind = OptimizerKind::kAdamw});
  ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.01));
  EXPECT_NEAR(flat.parameters[1], 2 - 0.01, 1e-6);
  EXPECT_EQ(optimizer->moments().size(), 2u);
}

TEST(OptimizerTest, NamedParametersHaveNoDecay) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamw}) {
    Flat flat;
    flat.gradients = {0, 0, 0, 0};
    const auto optimizer = Make({.kind = kind, .weight_decay = 0.5, .no_decay = {"bias"}});
    ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.1));
    EXPECT_FLOAT_EQ(flat.parameters[0], 0.95f);
    EXPECT_EQ(flat.parameters[2], 3);
    EXPECT_FLOAT_EQ(flat.parameters[3], 3.8f);
  }
}

TEST(OptimizerTest, AParameterWithoutGradientKeepsValueAndMoments) {
  Flat flat;
  const auto optimizer = Make({.momentum = 0.9, .weight_decay = 0.5});
  ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.1));
  const Flat before = flat;
  const float velocity = optimizer->moments()[0].data[2];
  ASSERT_OK(optimizer->Step(flat.p(), flat.g(), 0.1, std::vector<uint8_t>{1, 0, 1}));
  EXPECT_NE(flat.parameters[0], before.parameters[0]);
  EXPECT_EQ(flat.parameters[2], before.parameters[2]);
  EXPECT_EQ(optimizer->moments()[0].data[2], velocity);
  EXPECT_NE(flat.parameters[3], before.parameters[3]);
}

TEST(OptimizerTest, ClipsByTheGlobalNorm) {
  Flat flat;  // The norm of the gradients is 1.
  ASSERT_OK(Make({.clip_norm = 0.5})->Step(flat.p(), flat.g(), 1));
  EXPECT_NEAR(flat.gradients[0], 0.5 * 0.5 / (1 + 1e-6), 1e-7);
  EXPECT_NEAR(flat.parameters[0], 1 - 0.25, 1e-6);
  Flat small;
  ASSERT_OK(Make({.clip_norm = 2})->Step(small.p(), small.g(), 1));
  EXPECT_EQ(small.gradients[0], 0.5f);
}

TEST(OptimizerTest, ResetGivesAFreshOptimizer) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamw}) {
    const OptimizerOptions options = {.kind = kind, .momentum = 0.9, .nesterov = true};
    const auto used = Make(options);
    Flat scratch;
    ASSERT_OK(used->Step(scratch.p(), scratch.g(), 0.1));
    used->Reset();
    Flat a, b;
    ASSERT_OK(used->Step(a.p(), a.g(), 0.1));
    ASSERT_OK(Make(options)->Step(b.p(), b.g(), 0.1));
    EXPECT_EQ(a.parameters, b.parameters);
  }
}

TEST(OptimizerTest, MomentsAndStepCountCanBeHandedOver) {
  const OptimizerOptions options = {.kind = OptimizerKind::kAdamw, .weight_decay = 0.01};
  Flat a;
  const auto giver = Make(options);
  for (int i = 0; i < 3; ++i) ASSERT_OK(giver->Step(a.p(), a.g(), 0.1));
  Flat b = a;
  const auto taker = Make(options);
  for (size_t m = 0; m < 2; ++m) std::copy_n(giver->moments()[m].data, 4, taker->moments()[m].data);
  taker->set_step_count(giver->step_count());
  ASSERT_OK(giver->Step(a.p(), a.g(), 0.1));
  ASSERT_OK(taker->Step(b.p(), b.g(), 0.1));
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST(OptimizerTest, RefusesImpossibleOptionsByName) {
  const auto expect_refused = [](const OptimizerOptions& options, const char* name) {
    EXPECT_THAT(Optimizer::Create(options, TwoLayers()),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(name)));
  };
  expect_refused({.momentum = -1}, "momentum");
  expect_refused({.nesterov = true}, "nesterov");
  expect_refused({.beta1 = 1}, "beta1");
  expect_refused({.beta2 = 1.5}, "beta2");
  expect_refused({.eps = NAN}, "eps");
  expect_refused({.weight_decay = INFINITY}, "weight_decay");
  expect_refused({.clip_norm = -0.5}, "clip_norm");
  expect_refused({.no_decay = {"bias", "biass"}}, "did you mean 'bias'?");
}

TEST(OptimizerTest, RefusesOtherSizes) {
  Flat flat;
  const auto optimizer = Make({});
  EXPECT_THAT(optimizer->Step(flat.p().Sub(0, 3), flat.g(), 0.1),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(optimizer->Step(flat.p(), flat.g(), 0.1, std::vector<uint8_t>{1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(LayoutTest, PlacesEntriesSideBySideAndHashesNamesAndShapes) {
  Layout layout = TwoLayers();
  EXPECT_EQ(layout.parameter_count(), 4);
  EXPECT_EQ(layout.parameters[2].offset, 3);
  const std::string hash = layout.Hash();
  EXPECT_EQ(hash, TwoLayers().Hash());
  layout.parameters[0].shape = {1, 2};
  EXPECT_NE(layout.Hash(), hash);
  Layout buffers = TwoLayers();
  Layout::Append(&buffers.integer_buffers, "count", {});
  EXPECT_EQ(buffers.integer_buffer_count(), 1);
  EXPECT_NE(buffers.Hash(), hash);
}

}  // namespace
}  // namespace rondo
