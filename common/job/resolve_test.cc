#include "common/job/resolve.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/job/test_jobs.h"

namespace rondo {
namespace {

const DataSizes kDigits = {.train = {1500, {8, 8}}, .test = {297, {8, 8}}};

ParsedJob Resolved(std::string_view from, std::string_view to, const DataSizes& sizes) {
  ParsedJob parsed = ParseJob(JobWith(from, to));
  EXPECT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  ResolveJob(sizes, &parsed);
  return parsed;
}

TEST(ResolveTest, EpochsTimesWholeBatches) {
  const ParsedJob parsed = Resolved("seed: 1", "seed: 1", kDigits);
  ASSERT_TRUE(parsed.errors.empty());
  const v1::Resolved& resolved = parsed.job.resolved();
  EXPECT_EQ(resolved.steps(), 20 * 23);
  EXPECT_EQ(resolved.steps_per_epoch(), 23);
  EXPECT_EQ(resolved.global_batch(), 64);
  EXPECT_EQ(resolved.train_samples(), 1500);
  EXPECT_EQ(resolved.test_samples(), 297);
  EXPECT_EQ(resolved.sample_shape(1), 8);
}

TEST(ResolveTest, ABatchPerWorkerIsFixedWhenTheMembersAre) {
  std::string text = JobWith("global: 64", "per_worker: 8");
  ParsedJob parsed = ParseJob(text.replace(text.find("max: 16"), 7, "max: 2"));
  ResolveJob(kDigits, &parsed);
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  EXPECT_EQ(parsed.job.resolved().global_batch(), 16);
  EXPECT_EQ(parsed.job.resolved().steps(), 20 * 93);
}

TEST(ResolveTest, ABatchPerWorkerVariesWithTheMembersOtherwise) {
  std::string text = JobWith("global: 64", "per_worker: 8");
  text.replace(text.find("epochs: 20"), 10, "steps: 500");
  ParsedJob parsed = ParseJob(text.replace(text.find("every_epochs: 1"), 15, "every_steps: 9"));
  ResolveJob(kDigits, &parsed);
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  EXPECT_EQ(parsed.job.resolved().global_batch(), 0);
  EXPECT_EQ(parsed.job.resolved().steps_per_epoch(), 0);
}

TEST(ResolveTest, WarnsOfADensityThatNeverComesDown) {
  const std::string sparse = "kind: sparse, density: 0.01, warmup_density: 0.25, warmup_steps: ";
  EXPECT_TRUE(Resolved("kind: ring", sparse + "459", kDigits).warnings.empty());
  const ParsedJob parsed = Resolved("kind: ring", sparse + "460", kDigits);
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0].key, "collective.warmup_steps");
  EXPECT_GT(parsed.warnings[0].position.line, 1);
}

TEST(ResolveTest, StepsNeedNoData) {
  ParsedJob parsed = ParseJob(JobWith("epochs: 20, peak: 0.1", "steps: 77, peak: 0.1"));
  parsed.job.clear_evaluate();
  ResolveJob({}, &parsed);
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  EXPECT_EQ(parsed.job.resolved().steps(), 77);
  EXPECT_EQ(parsed.job.resolved().steps_per_epoch(), 0);
}

struct Case {
  const char* from;
  const char* to;
  DataSizes sizes;
  const char* key;
  int line;
};

TEST(ResolveTest, RefusesWhatTheDataCannotGive) {
  const Case cases[] = {
      {"seed: 1", "seed: 1", {}, "schedule.epochs", 13},
      {"global: 64", "global: 1501", kDigits, "batch.global", 11},
      {"[64, 128", "[63, 128", kDigits, "model.layers", 3},
      {"epochs: 20", "epochs: 1000000000", kDigits, "schedule.epochs", 13},
      {"kind: cosine", "kind: wsd, decay_steps: 461", kDigits, "schedule.decay_steps", 13},
  };
  for (const Case& c : cases) {
    const ParsedJob parsed = Resolved(c.from, c.to, c.sizes);
    ASSERT_FALSE(parsed.errors.empty()) << c.to;
    EXPECT_EQ(parsed.errors[0].key, c.key);
    EXPECT_EQ(parsed.errors[0].position.line, c.line);
  }
}

TEST(ResolveTest, DropsInEpochsBecomeSteps) {
  const ParsedJob parsed =
      Resolved("kind: cosine", "kind: step, gamma: 0.1, at_epochs: [5, 9]", kDigits);
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_EQ(parsed.job.resolved().drop_steps(0), 5 * 23);
  EXPECT_EQ(parsed.job.resolved().drop_steps(1), 9 * 23);
}

}  // namespace
}  // namespace rondo
