// SIGTERM to a worker in whatever it is busy with: it leaves within its grace, with code 5, and the
// others go on (S75, rule 16).
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/e2e/cluster.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"
#include "worker/engine/torch/script_for_test.h"

namespace rondo::e2e {
namespace {

constexpr int kGrace = 8;  // Seconds.

// A job that does not end by itself.
DigitsJob Endless(const std::string& sync, const std::string& workers) {
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  job.batch = "{global: 24}";
  job.sync = sync;
  job.workers = workers;
  return job;
}

// It is told to leave; nobody kills it when its grace is over.
void ExpectLeaves(Program& worker) {
  worker.Signal(SIGTERM);
  const Ended ended = worker.Wait();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_FALSE(ended.timed_out);
}

TEST(LeaveTest, WhileItWaitsForOthers) {
  Cluster cluster(MakeJobFolder(Endless("{policy: constant, base_steps: 4}", "{min: 2, max: 2}")));
  Program& a = cluster.AddWorker("a", kGrace);
  ASSERT_TRUE(cluster.WaitForReason("1 of at least 2 workers is ready"));
  ExpectLeaves(a);
}

TEST(LeaveTest, InTheMiddleOfAnOrderThatIsTooLong) {
  Cluster cluster(
      MakeJobFolder(Endless("{policy: constant, base_steps: 4000000}", "{min: 2, max: 2}")));
  Program& a = cluster.AddWorker("a", kGrace);
  cluster.AddWorker("b", kGrace);
  ASSERT_TRUE(cluster.WaitForOpenRound(1));
  ExpectLeaves(a);
  EXPECT_TRUE(cluster.WaitForEvent("worker_left"));
}

TEST(LeaveTest, InTheMiddleOfAParallelRoundWhichTheOthersGoOnWith) {
  Cluster cluster(
      MakeJobFolder(Endless("{policy: parallel, round_steps: 4000000}", "{min: 2, max: 2}")));
  Program& a = cluster.AddWorker("a", kGrace);
  cluster.AddWorker("b", kGrace);
  ASSERT_TRUE(cluster.WaitForOpenRound(1));
  ExpectLeaves(a);
  EXPECT_TRUE(cluster.WaitForEvent("step_repaired"));
}

// Rounds of a few steps: whatever it is at, it waits for the other soon.
TEST(LeaveTest, WhileItWaitsForAFrozenPeer) {
  for (const char* sync : {"{policy: constant, base_steps: 2}", "{policy: parallel}"}) {
    Cluster cluster(MakeJobFolder(Endless(sync, "{min: 2, max: 2}")));
    Program& a = cluster.AddWorker("a", kGrace);
    Program& b = cluster.AddWorker("b", kGrace);
    ASSERT_TRUE(cluster.WaitForOpenRound(2));
    b.Signal(SIGSTOP);
    ExpectLeaves(a);
    b.Signal(SIGCONT);
  }
}

TEST(LeaveTest, WhileAGroupIsFormedWithAFrozenPeer) {
  Cluster cluster(MakeJobFolder(Endless("{policy: constant, base_steps: 2}", "{min: 3, max: 3}")));
  Program& a = cluster.AddWorker("a", kGrace);
  Program& b = cluster.AddWorker("b", kGrace);
  ASSERT_TRUE(cluster.WaitForReason("2 of at least 3 workers are ready"));
  b.Signal(SIGSTOP);
  cluster.AddWorker("c", kGrace);
  ASSERT_TRUE(cluster.WaitForReason("waits for"));
  ExpectLeaves(a);
  b.Signal(SIGCONT);
}

TEST(LeaveTest, InTheMiddleOfAnEvaluation) {
  DigitsJob job = Endless("{policy: constant, base_steps: 2}", "{min: 2, max: 2}");
  job.model = "{torchscript: slow.pt}";
  job.more = "evaluate: {every_steps: 2}\n";
  const std::string folder = MakeJobFolder(job);
  SaveScriptForTest(folder + "/slow.pt", {{"w", {64, 10}, 0.01f}},
                    "def forward(self, x):\n"
                    // Not the zeros that it is tried with when the job is loaded.
                    "  if not self.training and bool(x.any()):\n"
                    "    i = 1\n"
                    "    while i > 0:\n"
                    "      i = (i % 7) + 1\n"
                    "  return x.flatten(1) @ self.w\n");
  Cluster cluster(folder);
  Program& a = cluster.AddWorker("a", kGrace);
  cluster.AddWorker("b", kGrace);
  ASSERT_TRUE(cluster.WaitFor([](const nlohmann::json& s) { return s["step"].get<int>() >= 2; }));
  ExpectLeaves(a);
}

}  // namespace
}  // namespace rondo::e2e
