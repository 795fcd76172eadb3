// The engine with the built-in models.
#include "worker/engine/engine.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mix64.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/data/batch.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/layout.h"
#include "worker/engine/state_file.h"

namespace rondo {
namespace {

using testing::HasSubstr;

EngineOptions SmallMlp() {
  return {.layers = {4, 5, 3}, .seed = 7, .input_shape = {1, 2, 2}, .class_count = 3};
}

// `size` samples of pseudo-random inputs and labels below `classes`.
Batch RandomBatch(int64_t size, const std::vector<int64_t>& shape, int64_t classes) {
  SplitMix64 random(5);
  Batch batch;
  batch.size = size;
  batch.inputs.shape = {size};
  batch.inputs.shape.insert(batch.inputs.shape.end(), shape.begin(), shape.end());
  int64_t elements = size;
  for (const int64_t extent : shape) elements *= extent;
  for (int64_t i = 0; i < elements; ++i)
    batch.inputs.floats.push_back(static_cast<float>(random.Below(1000)) / 500 - 1);
  batch.targets.type = ElementType::kInt64;
  batch.targets.shape = {size};
  for (int64_t i = 0; i < size; ++i) {
    batch.targets.ints.push_back(static_cast<int64_t>(random.Below(classes)));
    batch.samples.push_back(100 + i);
    batch.positions.push_back(i);
  }
  return batch;
}

std::unique_ptr<Engine> Make(const EngineOptions& options) {
  return std::move(CreateEngine(options)).value();
}

std::vector<float> Copy(DeviceSpan<float> span) { return {span.data, span.data + span.size}; }

TEST(EngineTest, LaysParametersOutInPyTorchsOrder) {
  const auto engine = Make(SmallMlp());
  const std::vector<LayoutEntry>& entries = engine->layout().parameters;
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].name, "fc1.weight");
  EXPECT_EQ(entries[0].shape, (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(entries[3].name, "fc2.bias");
  EXPECT_EQ(engine->parameters().size, 5 * 4 + 5 + 3 * 5 + 3);
  EXPECT_EQ(engine->gradients().size, engine->parameters().size);
  EXPECT_EQ(engine->float_buffers().size, 0);
}

TEST(EngineTest, GradientIsTheSlopeOfTheLoss) {
  const auto engine = Make(SmallMlp());
  const Batch batch = RandomBatch(6, {1, 2, 2}, 3);
  ASSERT_OK_AND_ASSIGN(const GradientResult result, engine->ComputeGradient(batch, 0));
  EXPECT_TRUE(result.finite);
  EXPECT_EQ(result.samples, 6);
  const std::vector<float> gradient = Copy(engine->gradients());
  const auto loss_at = [&](int64_t i, float value) {
    const float before = std::exchange(engine->parameters().data[i], value);
    const Evaluation evaluation = engine->Evaluate(batch).value();
    engine->parameters().data[i] = before;
    return evaluation.loss_sum / static_cast<double>(evaluation.count);
  };
  EXPECT_NEAR(loss_at(0, engine->parameters().data[0]), result.loss, 1e-6);
  for (int64_t i = 0; i < engine->parameters().size; i += 5) {
    const float w = engine->parameters().data[i];
    // Central difference: outputs rounded to 1e-7 over a width of 2e-3, and no kink of ReLU within
    // it.
    EXPECT_NEAR((loss_at(i, w + 0.001f) - loss_at(i, w - 0.001f)) / 0.002, gradient[i], 5e-4) << i;
  }
}

TEST(EngineTest, EachCallStartsFromAZeroGradient) {
  const auto engine = Make(SmallMlp());
  const Batch batch = RandomBatch(6, {1, 2, 2}, 3);
  ASSERT_OK(engine->ComputeGradient(batch, 0));
  const std::vector<float> once = Copy(engine->gradients());
  ASSERT_OK(engine->ComputeGradient(batch, 1));
  EXPECT_EQ(Copy(engine->gradients()), once);
}

TEST(EngineTest, PiecesGiveTheMeanOverTheWholeBatch) {
  const Batch batch = RandomBatch(7, {1, 2, 2}, 3);
  const auto whole = Make(SmallMlp());
  ASSERT_OK_AND_ASSIGN(const GradientResult expected, whole->ComputeGradient(batch, 0));
  for (const int64_t micro : {1, 2, 3, 6, 7, 100}) {
    EngineOptions options = SmallMlp();
    options.micro = micro;
    const auto pieces = Make(options);
    ASSERT_OK_AND_ASSIGN(const GradientResult result, pieces->ComputeGradient(batch, 0));
    EXPECT_NEAR(result.loss, expected.loss, 1e-6);
    for (int64_t i = 0; i < whole->gradients().size; ++i)
      EXPECT_NEAR(pieces->gradients().data[i], whole->gradients().data[i], 1e-6) << micro;
    ASSERT_OK_AND_ASSIGN(const Evaluation a, pieces->Evaluate(batch));
    ASSERT_OK_AND_ASSIGN(const Evaluation b, whole->Evaluate(batch));
    EXPECT_EQ(a.correct, b.correct);
    EXPECT_EQ(a.count, 7);
    EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-5);
  }
}

TEST(EngineTest, SaysWhatIsNotFinite) {
  const auto engine = Make(SmallMlp());
  engine->parameters().data[0] = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const GradientResult result,
                       engine->ComputeGradient(RandomBatch(4, {1, 2, 2}, 3), 0));
  EXPECT_FALSE(result.finite);
}

TEST(EngineTest, SeedDecidesTheInitialValues) {
  EngineOptions other = SmallMlp();
  other.seed = 8;
  EXPECT_EQ(Copy(Make(SmallMlp())->parameters()), Copy(Make(SmallMlp())->parameters()));
  EXPECT_NE(Copy(Make(SmallMlp())->parameters()), Copy(Make(other)->parameters()));
  EXPECT_EQ(Make(SmallMlp())->layout().Hash(), Make(other)->layout().Hash());
}

TEST(EngineTest, ConvnetTakesItsSizesFromTheData) {
  const auto engine =
      Make({.model = ModelKind::kConvnet, .input_shape = {3, 9, 12}, .class_count = 4});
  EXPECT_EQ(engine->layout().parameters[0].shape, (std::vector<int64_t>{16, 3, 3, 3}));
  EXPECT_EQ(engine->layout().parameters[4].shape, (std::vector<int64_t>{4, 32 * 2 * 3}));
  EXPECT_OK(engine->ComputeGradient(RandomBatch(2, {3, 9, 12}, 4), 0));
}

TEST(EngineTest, MseIsTheMeanSquare) {
  EngineOptions options = SmallMlp();
  options.loss = LossKind::kMse;
  options.class_count = 0;
  const auto engine = Make(options);
  Batch batch = RandomBatch(2, {1, 2, 2}, 3);
  batch.targets = {.type = ElementType::kFloat32, .shape = {2, 3}, .floats = {0, 0, 0, 0, 0, 0}};
  ASSERT_OK_AND_ASSIGN(const GradientResult result, engine->ComputeGradient(batch, 0));
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, engine->Evaluate(batch));
  EXPECT_EQ(evaluation.count, 6);
  EXPECT_NEAR(evaluation.loss_sum / 6, result.loss, 1e-6);
  batch.targets.shape = {2};
  batch.targets.floats = {0, 0};
  EXPECT_THAT(engine->ComputeGradient(batch, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[2, 3], the targets [2]")));
  batch.targets = RandomBatch(2, {1, 2, 2}, 3).targets;
  EXPECT_THAT(engine->Evaluate(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float32 targets")));
}

TEST(EngineTest, ALabelOutOfRangeNamesItsSample) {
  const auto engine = Make(SmallMlp());
  for (const int64_t label : {int64_t{3}, int64_t{-1}}) {
    Batch batch = RandomBatch(4, {1, 2, 2}, 3);
    batch.targets.ints[2] = label;
    EXPECT_THAT(engine->ComputeGradient(batch, 0),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sample 102 has label")));
    EXPECT_THAT(engine->Evaluate(batch), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(EngineTest, RefusesBatchesThatDoNotFit) {
  const auto engine = Make(SmallMlp());
  EXPECT_THAT(engine->ComputeGradient(Batch(), 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(engine->Evaluate(Batch()), StatusIs(absl::StatusCode::kInvalidArgument));
  Batch no_positions = RandomBatch(2, {1, 2, 2}, 3);
  no_positions.positions.clear();
  EXPECT_THAT(engine->ComputeGradient(no_positions, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("positions")));
  EXPECT_THAT(engine->ComputeGradient(RandomBatch(2, {9}, 3), 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[2, 9]")));
}

struct BadOptions {
  const char* name;
  EngineOptions options;
  const char* message;
};
class BadEngineTest : public testing::TestWithParam<BadOptions> {};

TEST_P(BadEngineTest, IsRefused) {
  EXPECT_THAT(CreateEngine(GetParam().options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

const BadOptions kBad[] = {
    {"OneLayer", {.layers = {4}, .input_shape = {4}}, "at least two sizes"},
    {"EmptyLayer", {.layers = {4, 0, 3}, .input_shape = {4}}, "at least two sizes"},
    {"OtherInputs", {.layers = {5, 3}, .input_shape = {2, 2}}, "a sample has 4 inputs"},
    {"TooFewOutputs", {.layers = {4, 9}, .input_shape = {4}, .class_count = 10}, "it needs 10"},
    {"FloatLabels",
     {.layers = {4, 3}, .input_shape = {4}, .targets = TargetForm{ElementType::kFloat32, {}}},
     "integer targets"},
    {"TwoLabelsForOneRow",
     {.layers = {4, 3}, .input_shape = {4}, .targets = TargetForm{ElementType::kInt64, {2}}},
     "[2, 2]"},
    {"WholeNumbersForMse",
     {.layers = {4, 3}, .loss = LossKind::kMse, .input_shape = {4}, .targets = TargetForm{}},
     "float32 targets"},
    {"OtherTargetsThanOutputs",
     {.layers = {4, 20},
      .loss = LossKind::kMse,
      .input_shape = {4},
      .targets = TargetForm{ElementType::kFloat32, {3}}},
     "[2, 20]"},
    {"FlatConvnet", {.model = ModelKind::kConvnet, .input_shape = {64}, .class_count = 2}, "[64]"},
    {"SmallConvnet",
     {.model = ModelKind::kConvnet, .input_shape = {1, 3, 8}, .class_count = 2},
     "4 by 4"},
    {"NoClasses", {.model = ModelKind::kConvnet, .input_shape = {1, 8, 8}}, "integer labels"},
    {"Tokens",
     {.layers = {4, 3}, .input_shape = {4}, .input_type = ElementType::kInt64},
     "not int64"},
    {"NoThreads", {.layers = {4, 3}, .input_shape = {4}, .threads = 0}, "threads is 0"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadEngineTest, testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

StateSpans Spans(Engine* engine) {
  return {
      .parameters = {engine->parameters().data, static_cast<size_t>(engine->parameters().size)}};
}

TEST(InitFileTest, GivesTheValuesThatWereSaved) {
  const auto saved = Make(SmallMlp());
  const std::string path = testing::TempDir() + "/init.safetensors";
  ASSERT_OK(SaveState(path, saved->layout(), Spans(saved.get())));
  EngineOptions options = SmallMlp();
  options.seed = 99;
  options.init_path = path;
  EXPECT_EQ(Copy(Make(options)->parameters()), Copy(saved->parameters()));
}

TEST(InitFileTest, NamesWhatIsMissingExtraAndMisshapen) {
  Layout layout = Make(SmallMlp())->layout();
  layout.parameters[1].name = "fc9.bias";
  std::swap(layout.parameters[0].shape[0], layout.parameters[0].shape[1]);
  const std::string path = testing::TempDir() + "/other.safetensors";
  std::vector<float> values(static_cast<size_t>(layout.parameter_count()));
  ASSERT_OK(SaveState(path, layout, {.parameters = values}));
  EngineOptions options = SmallMlp();
  options.init_path = path;
  EXPECT_THAT(CreateEngine(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr(path), HasSubstr("'fc1.bias' is missing"),
                                      HasSubstr("the model has no 'fc9.bias'"),
                                      HasSubstr("'fc1.weight' has shape [4, 5], the model has "
                                                "[5, 4]"))));
  options.init_path = "/nowhere/init";
  EXPECT_THAT(CreateEngine(options), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StepSeedTest, DependsOnEachArgument) {
  EXPECT_EQ(ComputeStepSeed(1, 2, 3), ComputeStepSeed(1, 2, 3));
  EXPECT_NE(ComputeStepSeed(1, 2, 3), ComputeStepSeed(1, 3, 2));
  EXPECT_NE(ComputeStepSeed(1, 2, 3), ComputeStepSeed(2, 1, 3));
}

}  // namespace
}  // namespace rondo
