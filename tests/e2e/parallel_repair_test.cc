// Parallel rounds of real processes, some of which die, or whose connections break.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sockets.h"
#include "tests/e2e/watched_run.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;

constexpr int kSteps = 2'000;

DigitsJob ParallelJob() {
  DigitsJob job;
  job.sync = "{policy: parallel, round_steps: 40}";
  job.schedule = "{kind: cosine, steps: 2000, peak: 0.05, final: 1e-3, warmup_steps: 5}";
  job.batch = "{global: 24}";
  return job;
}

// One history: each round begins where the one before it ended.
void ExpectWhole(const std::vector<json>& rounds) {
  int64_t step = 0;
  for (const json& round : rounds) {
    EXPECT_EQ(round["first_step"], step) << round;
    EXPECT_EQ(round["mode"], "parallel");
    EXPECT_EQ(round["samples"], 24 * round["length"].get<int64_t>()) << round;
    step += round["length"].get<int64_t>();
  }
  EXPECT_EQ(step, kSteps);
}

// What is left over at the ends of epochs.
int64_t DroppedUndisturbed() {
  static const int64_t dropped = [] {
    WatchedRun run(MakeJobFolder(ParallelJob()), 3);
    EXPECT_EQ(run.Wait().exit_code, 0);
    return run.Status()["samples_dropped"].get<int64_t>();
  }();
  return dropped;
}

class KillTest : public testing::TestWithParam<int> {};

// S01, S08: rank 0 is as good as any. The step in which it dies is as chance has it.
TEST_P(KillTest, TheOthersFinishTheRoundAndTheJob) {
  WatchedRun run(MakeJobFolder(ParallelJob()), 3);
  ASSERT_TRUE(run.WaitForRound(3 + GetParam())) << run.Wait();
  const pid_t victim = run.WorkerPid(GetParam());
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(JsonLines(ended.out).back()["state"], "done");
  const std::vector<json> rounds = run.Rounds();
  ExpectWhole(rounds);
  EXPECT_EQ(rounds.back()["members"].size(), 2u);
  EXPECT_EQ(run.Status()["samples_dropped"], DroppedUndisturbed()) << "a death drops no sample";
}

INSTANTIATE_TEST_SUITE_P(Rank, KillTest, testing::Values(0, 1, 2));

TEST(KillTest, TheLastOneLeftFinishesTheRound) {  // Rule 13, S88
  DigitsJob job = ParallelJob();
  WatchedRun run(MakeJobFolder(job), 3);
  ASSERT_TRUE(run.WaitForRound(2)) << run.Wait();
  for (const int index : {0, 2}) kill(run.WorkerPid(index), SIGKILL);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.exit_code, 0) << ended;
  ExpectWhole(run.Rounds());
}

// Nobody is lost: the repaired run has the bits of the undisturbed one.
TEST(CutTest, ABrokenConnectionChangesNoBit) {
  const std::string folder = MakeJobFolder(ParallelJob());
  WatchedRun undisturbed(folder, 3);
  ASSERT_EQ(undisturbed.Wait().exit_code, 0);
  WatchedRun run(folder, 3);
  for (const int round : {3, 9, 15}) {
    ASSERT_TRUE(run.WaitForRound(round)) << run.Wait();
    const int cut = CutConnections(run.WorkerPid(round % 2), run.WorkerPid(2));
    if (cut < 0) GTEST_SKIP() << "this system does not let a test reach into a worker's sockets";
  }
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const std::vector<json> expected = undisturbed.Rounds();
  const std::vector<json> rounds = run.Rounds();
  ExpectWhole(rounds);
  ASSERT_EQ(rounds.size(), expected.size());
  std::set<int> groups;
  for (size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(rounds[i]["members"].size(), 3u) << rounds[i];
    EXPECT_EQ(rounds[i]["state_hash"], expected[i]["state_hash"]) << rounds[i];
    groups.insert(rounds[i]["group"].get<int>());
  }
  EXPECT_GT(groups.size(), 1u) << "no connection was cut while it was needed";
}

}  // namespace
}  // namespace rondo::e2e
