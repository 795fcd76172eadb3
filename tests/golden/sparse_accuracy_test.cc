// Training with 1 % of the gradient's elements a step reaches the accuracy of dense training within
// a point, and without error feedback it clearly does not: means of three seeds.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/golden/golden_case.h"
#include "tests/golden/thread_group.h"

namespace rondo {
namespace {

constexpr int64_t kSteps = 600;
constexpr int kSeeds = 3;

// 26 passes over the digits by two members.
GoldenCase JobOf(const std::string& model, uint64_t seed, double density) {
  GoldenCase job;
  job.model = model;
  job.seed = seed;
  job.workers = 2;
  job.batch_per_worker = 16;
  job.steps = kSteps;
  job.shuffle = true;
  job.shuffle_seed = seed;
  job.schedule = "cosine";
  job.rate_peak = 0.3;
  job.warmup_steps = 20;
  job.optimizer = {.kind = OptimizerKind::kSgd};
  job.parallel = true;
  job.density = density;
  job.pixel_divisor = 16;
  return job;
}

double MeanAccuracy(const std::string& model, double density, bool feedback) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const GoldenCase job = JobOf(model, seed, density);
    ThreadGroup group(job);
    group.RunRound(0, kSteps, feedback);
    const Evaluation evaluation = group.Evaluate();
    sum += static_cast<double>(evaluation.correct) / static_cast<double>(evaluation.count);
  }
  return sum / kSeeds;
}

class SparseAccuracyTest : public testing::TestWithParam<const char*> {};

TEST_P(SparseAccuracyTest, OnePercentIsWithinAPointOfDenseAndWithoutFeedbackFarFromIt) {
  const double dense = MeanAccuracy(GetParam(), 0, true);
  EXPECT_GT(dense, 0.9);
  EXPECT_GE(MeanAccuracy(GetParam(), 0.01, true), dense - 0.01);
  EXPECT_LT(MeanAccuracy(GetParam(), 0.01, false), dense - 0.05);
}

INSTANTIATE_TEST_SUITE_P(Model, SparseAccuracyTest, testing::Values("mlp", "convnet"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rondo
