// The job file's section `collective`. Its mistakes are among those of job_file_test.
#include <gtest/gtest.h>

#include <string>

#include "common/job/diagnostic.h"
#include "common/job/job_file.h"
#include "common/job/test_jobs.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo {
namespace {

TEST(JobCollectiveTest, TakesSparseCollectives) {
  const ParsedJob sparse = ParseJob(JobWith(
      "kind: ring",
      "kind: sparse, density: 0.01, select: threshold, warmup_steps: 90, warmup_density: 0.25"));
  EXPECT_TRUE(sparse.errors.empty()) << FormatDiagnostics("job", sparse.errors);
  EXPECT_TRUE(sparse.warnings.empty());
  const v1::Collective& collective = sparse.job.collective();
  EXPECT_EQ(collective.kind(), v1::COLLECTIVE_KIND_SPARSE);
  EXPECT_EQ(collective.density(), 0.01);
  EXPECT_EQ(collective.select(), v1::SELECT_MODE_THRESHOLD);
  EXPECT_EQ(collective.warmup_steps(), 90);
  EXPECT_EQ(collective.warmup_density(), 0.25);
  const v1::Job chosen = ParseJob(JobWith("kind: ring", "kind: auto, density: 0.01")).job;
  EXPECT_EQ(chosen.collective().kind(), v1::COLLECTIVE_KIND_AUTO);
  EXPECT_EQ(chosen.collective().select(), v1::SELECT_MODE_EXACT);
  EXPECT_EQ(chosen.collective().warmup_density(), 0.01);
  const v1::Job gather = ParseJob(JobWith("kind: ring", "kind: topk_gather, density: 1")).job;
  EXPECT_EQ(gather.collective().kind(), v1::COLLECTIVE_KIND_TOPK_GATHER);
}

TEST(JobCollectiveTest, OfAMistypedCollectiveNothingElseIsCalledWrong) {
  for (const char* keys : {"kind: spars", "kind: Sparse, density: 0.01",
                           "kind: spars, density: 0.01, select: threshold, warmup_steps: 9, "
                           "warmup_density: 0.25"}) {
    const ParsedJob parsed = ParseJob(JobWith("kind: ring", keys));
    ASSERT_EQ(parsed.errors.size(), 1u) << FormatDiagnostics(keys, parsed.errors);
    EXPECT_EQ(parsed.errors[0].key, "collective.kind");
  }
}

TEST(JobCollectiveTest, WarnsWhereSparseDoesNotPay) {
  const ParsedJob dense = ParseJob(JobWith("kind: ring", "kind: sparse, density: 0.5"));
  ASSERT_EQ(dense.warnings.size(), 1u);
  EXPECT_EQ(dense.warnings[0].key, "collective.density");
  std::string text = JobWith("kind: ring", "kind: sparse, density: 0.01");
  text.replace(text.find("optimizer: local"), 16, "optimizer: average");
  const ParsedJob averaged = ParseJob(text);
  ASSERT_EQ(averaged.warnings.size(), 1u);
  EXPECT_EQ(averaged.warnings[0].key, "state.optimizer");
}

}  // namespace
}  // namespace rondo
