// The engine with TorchScript files.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/data/batch.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/torch/script_for_test.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using Kind = ScriptTensorKind;

constexpr char kLinear[] = "def forward(self, x):\n  return x @ self.w + self.b\n";
const std::vector<ScriptTensor> kLinearTensors = {{"w", {2, 2}, 0.5f}, {"b", {2}, 0.25f}};

// A file that holds the module; an engine on inputs of two floats with loss mse or cross entropy.
EngineOptions Script(const std::string& name, const std::vector<ScriptTensor>& tensors,
                     const std::string& source, LossKind loss = LossKind::kMse) {
  const std::string path = testing::TempDir() + "/" + name + ".pt";
  SaveScriptForTest(path, tensors, source);
  return {.model = ModelKind::kTorchScript,
          .torchscript_path = path,
          .loss = loss,
          .seed = 3,
          .input_shape = {2},
          .class_count = loss == LossKind::kMse ? 0 : 2};
}

std::unique_ptr<Engine> Make(const EngineOptions& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = CreateEngine(options);
  EXPECT_OK(engine);
  return std::move(engine).value();
}

// Two samples, (1, 2) and (3, 4), with targets (0, 0).
Batch TwoSamples() {
  Batch batch;
  batch.size = 2;
  batch.inputs = {.shape = {2, 2}, .floats = {1, 2, 3, 4}};
  batch.targets = {.shape = {2, 2}, .floats = {0, 0, 0, 0}};
  batch.samples = {0, 1};
  batch.positions = {0, 1};
  return batch;
}

std::vector<float> Copy(DeviceSpan<float> span) { return {span.data, span.data + span.size}; }

TEST(TorchScriptTest, ParametersAndGradientsAreViewsOfFlatMemory) {
  const auto engine = Make(Script("views", kLinearTensors, kLinear));
  EXPECT_EQ(Copy(engine->parameters()), (std::vector<float>{0.5, 0.5, 0.5, 0.5, 0.25, 0.25}));
  ASSERT_OK_AND_ASSIGN(const GradientResult before, engine->ComputeGradient(TwoSamples(), 0));
  // Predictions 1.75 and 3.75, twice each.
  EXPECT_NEAR(before.loss, (1.75 * 1.75 + 3.75 * 3.75) / 2, 1e-6);
  // d/db = mean of 2 * prediction over samples and outputs, for each output.
  EXPECT_NEAR(engine->gradients().data[4], (1.75 + 3.75) / 2, 1e-6);
  for (int64_t i = 0; i < 6; ++i) engine->parameters().data[i] = 0;
  ASSERT_OK_AND_ASSIGN(const GradientResult after, engine->ComputeGradient(TwoSamples(), 1));
  EXPECT_EQ(after.loss, 0);
  EXPECT_EQ(engine->gradients().data[4], 0);
}

TEST(TorchScriptTest, SubmodulesGiveDottedNames) {
  const auto engine = Make(Script("dotted", {{"fc.w", {2, 2}, 1}, {"top", {2}, 1}},
                                  "def forward(self, x):\n  return x @ self.fc.w * self.top\n"));
  ASSERT_EQ(engine->layout().parameters.size(), 2u);
  EXPECT_EQ(engine->layout().parameters[0].name, "top");
  EXPECT_EQ(engine->layout().parameters[1].name, "fc.w");
}

TEST(TorchScriptTest, UnusedAndFrozenParametersHaveNoGradient) {
  const auto engine = Make(
      Script("unused", {{"w", {2, 2}, 1}, {"unused", {3}, 1}, {"frozen", {2}, 1, Kind::kFrozen}},
             "def forward(self, x):\n  return x @ self.w + self.frozen\n"));
  ASSERT_OK(engine->ComputeGradient(TwoSamples(), 0));
  const auto flags = engine->has_gradient();
  EXPECT_EQ(std::vector<uint8_t>(flags.begin(), flags.end()), (std::vector<uint8_t>{1, 0, 0}));
}

TEST(TorchScriptTest, GradientsOfAParameterThatIsUsedNowAndThenAreFlaggedEachStep) {
  const auto engine = Make(Script("branch", {{"w", {2, 2}, 1}, {"late", {2}, 1}},
                                  "def forward(self, x):\n"
                                  "  y = x @ self.w\n"
                                  "  if bool(x[0, 0] > 2):\n"
                                  "    y = y * self.late\n"
                                  "  return y\n"));
  Batch batch = TwoSamples();
  ASSERT_OK(engine->ComputeGradient(batch, 0));
  EXPECT_EQ(engine->has_gradient()[1], 0);
  batch.inputs.floats[0] = 5;
  ASSERT_OK(engine->ComputeGradient(batch, 1));
  EXPECT_EQ(engine->has_gradient()[1], 1);
  ASSERT_OK(engine->ComputeGradient(TwoSamples(), 2));
  EXPECT_EQ(engine->has_gradient()[1], 0);
}

TEST(TorchScriptTest, TiedParametersAreOne) {
  const auto engine =
      Make(Script("tied", {{"a", {2, 2}, 0.5f}, {"b", {2, 2}, 0, Kind::kParameter, "a"}},
                  "def forward(self, x):\n  return x @ self.a @ self.b\n"));
  ASSERT_EQ(engine->layout().parameters.size(), 1u);
  for (int64_t i = 0; i < 4; ++i) engine->parameters().data[i] = 1;
  ASSERT_OK_AND_ASSIGN(const GradientResult result, engine->ComputeGradient(TwoSamples(), 0));
  EXPECT_NEAR(result.loss, (6.0 * 6 + 14 * 14) / 2, 1e-4);  // (1 + 2) * 2 and (3 + 4) * 2
}

TEST(TorchScriptTest, BuffersMoveInTrainingOnly) {
  // One buffer is written in place, one is replaced, one counts.
  const auto engine = Make(Script("buffers",
                                  {{"w", {2, 2}, 1},
                                   {"in_place", {2}, 1, Kind::kFloatBuffer},
                                   {"count", {}, 5, Kind::kIntegerBuffer},
                                   {"replaced", {2}, 2, Kind::kFloatBuffer}},
                                  "def forward(self, x):\n"
                                  "  if self.training:\n"
                                  "    self.in_place.add_(1)\n"
                                  "    self.replaced = self.replaced * 2\n"
                                  "    self.count = self.count + 1\n"
                                  "  return x @ self.w + self.in_place + self.replaced\n"));
  ASSERT_EQ(engine->integer_buffers().size(), 1u);
  EXPECT_EQ(engine->integer_buffers()[0], 5);
  EXPECT_EQ(Copy(engine->float_buffers()), (std::vector<float>{1, 1, 2, 2}));
  for (int step = 0; step < 2; ++step) {
    ASSERT_OK(engine->ComputeGradient(TwoSamples(), step));
    ASSERT_OK(engine->Evaluate(TwoSamples()));
  }
  EXPECT_EQ(Copy(engine->float_buffers()), (std::vector<float>{3, 3, 8, 8}));
  EXPECT_EQ(engine->integer_buffers()[0], 7);
  // What is written from outside counts: by a sync, say.
  engine->integer_buffers()[0] = 100;
  for (int64_t i = 0; i < 4; ++i) engine->float_buffers().data[i] = 0;
  for (int64_t i = 0; i < 4; ++i) engine->parameters().data[i] = 0;
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, engine->Evaluate(TwoSamples()));
  EXPECT_EQ(evaluation.loss_sum, 0);
  ASSERT_OK(engine->ComputeGradient(TwoSamples(), 2));
  EXPECT_EQ(engine->integer_buffers()[0], 101);
  EXPECT_EQ(Copy(engine->float_buffers()), (std::vector<float>{1, 1, 0, 0}));
}

TEST(TorchScriptTest, RandomLayersAreSeededByStepAndPosition) {
  const auto engine = Make(Script("dropout", {{"w", {2, 2}, 1}},
                                  "def forward(self, x):\n"
                                  "  return torch.dropout(x @ self.w, 0.5, self.training)\n"));
  const auto gradient = [&](int64_t step, int64_t position) {
    Batch batch;
    batch.size = 40;
    batch.inputs = {.shape = {40, 2}, .floats = std::vector<float>(80, 1)};
    batch.targets = {.shape = {40, 2}, .floats = std::vector<float>(80, 0)};
    batch.positions.assign(40, position);
    EXPECT_OK(engine->ComputeGradient(batch, step));
    return Copy(engine->gradients());
  };
  const std::vector<float> first = gradient(1, 0);
  EXPECT_NE(gradient(2, 0), first);
  EXPECT_NE(gradient(1, 9), first);
  EXPECT_EQ(gradient(1, 0), first);
}

TEST(TorchScriptTest, ForwardMayWriteIntoItsInputs) {
  const auto engine = Make(
      Script("writes", {{"w", {2, 2}, 1}}, "def forward(self, x):\n  return x.mul_(2) @ self.w\n"));
  const Batch batch = TwoSamples();
  ASSERT_OK(engine->Evaluate(batch));
  EXPECT_EQ(batch.inputs.floats, TwoSamples().inputs.floats);
}

TEST(TorchScriptTest, TakesTokensAndOneTargetAToken) {
  EngineOptions options =
      Script("tokens", {{"table", {5, 2}, 0.5f}}, "def forward(self, x):\n  return self.table[x]\n",
             LossKind::kCrossEntropy);
  options.input_type = ElementType::kInt64;
  options.input_shape = {3};
  const auto engine = Make(options);
  Batch batch;
  batch.size = 2;
  batch.inputs = {.type = ElementType::kInt64, .shape = {2, 3}, .ints = {0, 1, 2, 3, 4, 0}};
  batch.targets = {.type = ElementType::kInt64, .shape = {2, 3}, .ints = {0, 0, 1, 1, 0, 0}};
  batch.positions = {0, 1};
  ASSERT_OK_AND_ASSIGN(const GradientResult result, engine->ComputeGradient(batch, 0));
  EXPECT_NEAR(result.loss, 0.693147, 1e-6);
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, engine->Evaluate(batch));
  EXPECT_EQ(evaluation.count, 6);
  EXPECT_EQ(evaluation.correct, 4);  // Of equal logits the first counts.
}

struct BadScript {
  const char* name;
  std::vector<ScriptTensor> tensors;
  const char* source;
  const char* message;
};
class BadScriptTest : public testing::TestWithParam<BadScript> {};

TEST_P(BadScriptTest, IsRefusedWithOneTellingLine) {
  const absl::Status status = CreateEngine(Script(GetParam().name, GetParam().tensors,
                                                  GetParam().source, LossKind::kCrossEntropy))
                                  .status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
}

const BadScript kBad[] = {
    {"Doubles",
     {{"w", {2, 2}, 1, Kind::kDoubleParameter}},
     "def forward(self, x):\n  return x @ self.w\n",
     "parameter 'w' is Double"},
    {"NoParameters",
     {{"w", {2, 2}, 1, Kind::kFloatBuffer}},
     "def forward(self, x):\n  return x @ self.w\n",
     "no parameters"},
    {"NoForward", {{"w", {2, 2}, 1}}, "def other(self, x):\n  return x @ self.w\n", "forward"},
    {"OtherShape",
     {{"w", {7, 2}, 1}},
     "def forward(self, x):\n  return x @ self.w\n",
     "does not take the data's inputs of shape [2, 2]"},
    {"TwoOutputs",
     {{"w", {2, 2}, 1}},
     "def forward(self, x):\n  return x @ self.w, x\n",
     "expected one tensor"},
    {"TooFewClasses",
     {{"w", {2, 1}, 1}},
     "def forward(self, x):\n  return x @ self.w\n",
     "1 outputs"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadScriptTest, testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

TEST(TorchScriptTest, AFileThatIsNoneIsRefusedByName) {
  const std::string path = testing::TempDir() + "/garbage.pt";
  std::ofstream(path) << "not a TorchScript file";
  EngineOptions options = {.model = ModelKind::kTorchScript, .torchscript_path = path};
  EXPECT_THAT(CreateEngine(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("is not a TorchScript file"),
                             testing::Not(HasSubstr("\n")), testing::Not(HasSubstr("miniz")))));
  options.torchscript_path = "/nowhere/model.pt";
  EXPECT_THAT(CreateEngine(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/model.pt")));
}

}  // namespace
}  // namespace rondo
