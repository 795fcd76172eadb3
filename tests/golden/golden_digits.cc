#include "tests/golden/golden_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/statusor.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/data/batch.h"
#include "worker/data/idx.h"

namespace rondo {
namespace {

constexpr char kDigits[] = "deploy/jobs/digits/";

}  // namespace

std::unique_ptr<Dataset> OpenDigits(const std::string& split, double divisor) {
  return std::move(OpenIdxDataset(kDigits + split + "-images-idx3-ubyte",
                                  kDigits + split + "-labels-idx1-ubyte", divisor))
      .value();
}

EngineOptions OptionsOf(const GoldenCase& golden) {
  return {.model = golden.model == "mlp" ? ModelKind::kMlp : ModelKind::kConvnet,
          .layers = {64, 128, 64, 10},
          .seed = golden.seed,
          .input_shape = {1, 8, 8},
          .class_count = 10};
}

std::vector<SampleRun> RunsOf(const GoldenCase& golden, int64_t rank, int64_t samples) {
  const int64_t global = golden.workers * golden.batch_per_worker;
  const int64_t steps_an_epoch = samples / global;
  std::vector<SampleRun> runs;
  for (int64_t step = 0; step < golden.steps; step += steps_an_epoch) {
    runs.push_back({.epoch = step / steps_an_epoch,
                    .first_position = rank,
                    .count = golden.batch_per_worker,
                    .stride = golden.workers,
                    .steps = std::min(steps_an_epoch, golden.steps - step),
                    .advance = global});
  }
  return runs;
}

Evaluation EvaluateOnTest(const GoldenCase& golden, Engine* engine) {
  const std::unique_ptr<Dataset> test = OpenDigits("test", golden.pixel_divisor);
  std::vector<int64_t> all(static_cast<size_t>(test->size()));
  std::iota(all.begin(), all.end(), 0);
  Batch batch;
  test->Load(all, &batch);
  const absl::StatusOr<Evaluation> evaluation = engine->Evaluate(batch);
  EXPECT_OK(evaluation);
  return *evaluation;
}

void ExpectGoldenEnd(const GoldenCase& golden, Engine* engine) {
  ASSERT_OK_AND_ASSIGN(const std::vector<float> init, LoadFlat(golden.init_path));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected, LoadFlat(golden.final_path));
  const DeviceSpan<float> parameters = engine->parameters();
  EXPECT_LE(
      ParameterDifference({parameters.data, parameters.data + parameters.size}, expected, init),
      golden.tolerance.final_params);
  const Evaluation evaluation = EvaluateOnTest(golden, engine);
  const auto count = static_cast<double>(evaluation.count);
  EXPECT_LE(RelativeDifference(evaluation.loss_sum / count, golden.test_loss),
            golden.tolerance.test_loss);
  EXPECT_LE(std::abs(static_cast<double>(evaluation.correct) / count - golden.test_accuracy),
            golden.tolerance.test_accuracy);
}

}  // namespace rondo
