// S91: a worker whose training loop stands still while its heartbeats go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"
#include "tests/e2e/watched_run.h"
#include "worker/engine/torch/script_for_test.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A softmax regression that never returns when, before the first update, it sees the first sample.
std::string StuckModel(double first_sample_sum) {
  return "def forward(self, x):\n"
         "  flat = x.flatten(1)\n"
         "  if bool((self.b == 0).all()):\n"
         "    if bool(((flat.sum(1) - " +
         std::to_string(first_sample_sum) +
         ").abs() < 1e-4).any()):\n"
         "      i = 1\n"
         "      while i > 0:\n"
         "        i = (i % 7) + 1\n"
         "  return flat @ self.w + self.b\n";
}

// The sum of the first sample's 64 pixels as the network sees them; it must be one of a kind among
// the samples of the first order.
double FirstSampleSum(const std::string& folder) {
  std::ifstream file(folder + "/train-images-idx3-ubyte", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  double sum = 0;
  for (size_t i = 0; i < 64; ++i) sum += static_cast<unsigned char>(bytes.at(16 + i));
  return sum / 16;
}

std::string MakeStuckFolder(const std::string& sync) {
  DigitsJob job;
  job.model = "{torchscript: stuck.pt}";
  job.shuffle = "false";
  job.batch = "{per_worker: 1}";
  job.sync = sync;
  job.optimizer = "{kind: sgd, momentum: 0.9}";
  job.more = "limits: {stall_seconds: 3, abort_seconds: 2}\n";
  const std::string folder = MakeJobFolder(job);
  SaveScriptForTest(folder + "/stuck.pt", {{"w", {64, 10}, 0.01f}, {"b", {10}, 0.0f}},
                    StuckModel(FirstSampleSum(folder)));
  return folder;
}

TEST(StalledTest, IsDroppedAndExitsWhileTheOthersTrainOn) {
  WatchedRun run(MakeStuckFolder("{policy: constant, base_steps: 2}"), 2);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("worker-0 ended: exit code 70"));
  const json rounds = run.Rounds();
  EXPECT_EQ(rounds[0]["members"].size(), 2u);
  EXPECT_EQ(rounds.back()["members"].size(), 1u);
}

// In parallel mode the other waits for it in a collective, which is no standing still.
TEST(StalledTest, EndsAParallelStepForTheOthersToo) {
  WatchedRun run(MakeStuckFolder("{policy: parallel, round_steps: 4}"), 2);
  const Ended ended = run.Wait();
  EXPECT_FALSE(ended.timed_out);
  // The sample is dealt again, before any update: the other gets stuck in it in its turn.
  EXPECT_THAT(ended.err, HasSubstr("worker-0 ended: exit code 70"));
  EXPECT_THAT(ended.err, HasSubstr("worker-1 ended: exit code 70"));
}

// Its peer dies: the step is aborted, the stuck loop does not hear it, the process ends by itself.
TEST(StalledTest, EndsByItselfWhenAnAbortIsNotHeard) {
  const std::string folder = MakeStuckFolder("{policy: parallel, round_steps: 4}");
  std::string job = ReadFile(folder + "/job.yaml");
  const std::string limit = "stall_seconds: 3";
  job.replace(job.find(limit), limit.size(), "stall_seconds: 600");
  WriteFile(folder + "/job.yaml", job);
  WatchedRun run(folder, 2);
  ASSERT_TRUE(run.WaitForOpenRound(1)) << run.Wait();
  kill(run.WorkerPid(1), SIGKILL);
  const Ended ended = run.Wait();
  EXPECT_FALSE(ended.timed_out);
  EXPECT_THAT(ended.err, HasSubstr("worker-0 ended: exit code 70"));
}

}  // namespace
}  // namespace rondo::e2e
