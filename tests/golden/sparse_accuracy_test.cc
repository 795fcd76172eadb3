// Training with 1 % of the elements in each reduction, of gradients in parallel mode and of what
// rounds moved in local mode, reaches the accuracy of dense training within a point, and without
// error feedback it clearly does not: means of three seeds.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/golden/golden_case.h"
#include "tests/golden/golden_digits.h"
#include "tests/golden/thread_group.h"

namespace rondo {
namespace {

constexpr int kSeeds = 3;

struct Training {
  const char* name;
  const char* model;
  bool parallel;
  int64_t steps;
  int64_t round;  // Steps from one reduction to the next; 1 in parallel mode.
};

// Two members; 600 steps are 26 passes over the digits.
GoldenCase JobOf(const Training& training, uint64_t seed, double density) {
  GoldenCase job;
  job.model = training.model;
  job.seed = seed;
  job.workers = 2;
  job.batch_per_worker = 16;
  job.steps = training.steps;
  job.shuffle = true;
  job.shuffle_seed = seed;
  job.schedule = "cosine";
  job.rate_peak = 0.3;
  job.warmup_steps = 20;
  job.optimizer = {.kind = OptimizerKind::kSgd};
  job.parallel = training.parallel;
  job.density = density;
  job.pixel_divisor = 16;
  return job;
}

double MeanAccuracy(const Training& training, double density, bool feedback) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const GoldenCase job = JobOf(training, seed, density);
    ThreadGroup group(job);
    for (int64_t step = 0; step < training.steps; step += training.round) {
      group.RunRound(step, training.round, feedback);
    }
    const Evaluation evaluation = EvaluateOnTest(job, &group.member(0).engine());
    sum += static_cast<double>(evaluation.correct) / static_cast<double>(evaluation.count);
  }
  return sum / kSeeds;
}

class SparseAccuracyTest : public testing::TestWithParam<Training> {};

TEST_P(SparseAccuracyTest, OnePercentIsWithinAPointOfDenseAndWithoutFeedbackFarFromIt) {
  const double dense = MeanAccuracy(GetParam(), 0, true);
  EXPECT_GT(dense, 0.9);
  EXPECT_GE(MeanAccuracy(GetParam(), 0.01, true), dense - 0.01);
  EXPECT_LT(MeanAccuracy(GetParam(), 0.01, false), dense - 0.05);
}

constexpr Training kTrainings[] = {{"MlpParallel", "mlp", true, 600, 1},
                                   {"ConvnetParallel", "convnet", true, 600, 1},
                                   {"MlpLocal", "mlp", false, 1200, 2}};
INSTANTIATE_TEST_SUITE_P(Training, SparseAccuracyTest, testing::ValuesIn(kTrainings),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rondo
