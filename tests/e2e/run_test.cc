// `rondo run` from start to end: what it leaves, how it is stopped, who dies with whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A job that no test waits to see the end of.
DigitsJob EndlessJob() {
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  return job;
}

// A run in the background; `first_round` is not empty once it has committed one.
struct Running {
  Running(const DigitsJob& job, int workers)
      : folder(MakeJobFolder(job)),
        state(NewFolder("state")),
        run(RondoRun(folder + "/job.yaml", workers, state)) {
    if (!run.WaitForFile(state + "/coordinator.address")) return;
    watch.emplace(Rondo({"watch", "--state", state, "--from", "1", "--json"}));
    first_round = watch->WaitForLine("\"round\"");
  }
  std::string folder;
  std::string state;
  Program run;
  std::optional<Program> watch;
  std::string first_round;
};

TEST(RunTest, LeavesAModelASummaryAndItsHistory) {
  DigitsJob job;
  job.sync = "{policy: qsr, alpha: 0.1, base_steps: 2}";
  const std::string folder = MakeJobFolder(job);
  const std::string state = folder + "/state";
  const Ended run = RunToEnd(RondoRun(folder + "/job.yaml", 2, state));
  ASSERT_EQ(run.exit_code, 0) << run;
  const json summary = JsonLines(run.out).back();
  EXPECT_EQ(summary["steps"], 40);
  EXPECT_GT(summary["test_accuracy"].get<double>(), 0.5);
  EXPECT_TRUE(std::filesystem::exists(state + "/model.safetensors"));
  for (const char* log : {"coordinator", "worker-0", "worker-1"}) {
    EXPECT_TRUE(std::filesystem::exists(state + "/logs/" + log + ".log")) << log;
  }

  const Ended rounds = RunToEnd(Rondo({"rounds", "--state", state, "--json"}));
  EXPECT_EQ(JsonLines(rounds.out).size(), summary["rounds"].get<size_t>());
  const json status = JsonLines(RunToEnd(Rondo({"status", "--state", state, "--json"})).out)[0];
  EXPECT_EQ(status["state"], "done");
  EXPECT_EQ(status["checksum"], summary["checksum"]);
  EXPECT_EQ(status["syncs"], summary["syncs"]);

  const Ended exported =
      RunToEnd(Rondo({"export", "--state", state, "--out", folder + "/again.safetensors"}));
  EXPECT_EQ(exported.exit_code, 0) << exported;
  EXPECT_EQ(ReadFile(folder + "/again.safetensors"), ReadFile(state + "/model.safetensors"));

  const Ended again = RunToEnd(RondoRun(folder + "/job.yaml", 2, state));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_THAT(again.err, HasSubstr("ended")) << "it says that the run is over";
}

TEST(RunTest, ThePlanForetellsTheRun) {
  DigitsJob job;
  job.sync = "{policy: qsr, alpha: 0.1, base_steps: 2}";
  const std::string folder = MakeJobFolder(job);
  const Ended run = RunToEnd(RondoRun(folder + "/job.yaml", 2, folder + "/state"));
  ASSERT_EQ(run.exit_code, 0) << run;
  const Ended plan = RunToEnd(Rondo({"plan", folder + "/job.yaml", "--json"}));
  ASSERT_EQ(plan.exit_code, 0) << plan;
  const json summary = JsonLines(run.out).back();
  const json planned = JsonLines(plan.out).back();
  for (const char* key : {"steps", "rounds", "syncs", "checksum"}) {
    EXPECT_EQ(planned[key], summary[key]) << key;
  }
}

TEST(RunTest, CtrlCIsAnOrderlyStopWithACheckpoint) {
  Running running(EndlessJob(), 2);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  running.run.Signal(SIGINT);
  const Ended ended = running.run.Wait();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_EQ(JsonLines(ended.out).back()["state"], "stopped");
  EXPECT_TRUE(std::filesystem::exists(running.state + "/model.safetensors"));
  EXPECT_FALSE(running.watch->Wait().timed_out) << "a watch ends with its job";
}

TEST(RunTest, StopEndsTheJobForItsUser) {
  Running running(EndlessJob(), 2);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  const Ended stop = RunToEnd(Rondo({"stop", "--state", running.state, "--reason", "enough"}));
  EXPECT_EQ(stop.exit_code, 0) << stop;
  const Ended ended = running.run.Wait();
  EXPECT_FALSE(ended.timed_out);
  const json status =
      JsonLines(RunToEnd(Rondo({"status", "--state", running.state, "--json"})).out)[0];
  EXPECT_EQ(status["state"], "stopped");
  EXPECT_THAT(status["reason"].get<std::string>(), HasSubstr("enough"));
}

void KillWorker(const Running& running, const std::string& name) {
  const pid_t victim = ChildWith(running.run.pid(), name);
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
}

// S01, S09: the rest go on.
TEST(RunTest, AKilledWorkerIsReportedAndTheOthersTrainOn) {
  Running running(EndlessJob(), 3);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  KillWorker(running, "worker-1");
  EXPECT_NE(running.watch->WaitForLine(R"(["worker-0","worker-2"])"), "")
      << "a round of the two that are left";
  running.run.Signal(SIGINT);
  const Ended ended = running.run.Wait();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_THAT(ended.err, HasSubstr("worker-1 ended: killed by signal 9"));
}

// S15: nobody restarts a worker of a local run.
TEST(RunTest, WithFewerThanTheMinimumLeftTheRunEndsByItself) {
  DigitsJob job = EndlessJob();
  job.workers = "{min: 3, max: 3}";
  Running running(job, 3);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  KillWorker(running, "worker-1");
  const Ended ended = running.run.Wait();
  EXPECT_FALSE(ended.timed_out);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("2 of 3 workers are left, the job needs 3: stopping"));
}

TEST(RunTest, AKilledCoordinatorIsReportedAndNoWorkerStays) {
  Running running(EndlessJob(), 2);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  const pid_t victim = ChildWith(running.run.pid(), "--address-file");
  ASSERT_GT(victim, 0);
  std::vector<Watched> children;
  for (pid_t child : ChildrenOf(running.run.pid())) children.emplace_back(child);
  kill(victim, SIGKILL);
  const Ended ended = running.run.Wait();
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("coordinator ended: killed by signal 9"));
  for (const Watched& child : children) EXPECT_TRUE(child.GoneWithin(absl::ZeroDuration()));
  // What was committed can still be read.
  const Ended rounds = RunToEnd(Rondo({"rounds", "--state", running.state, "--json"}));
  EXPECT_EQ(rounds.exit_code, 0) << rounds;
  EXPECT_FALSE(JsonLines(rounds.out).empty());
}

TEST(RunTest, AKilledLauncherLeavesNoProcessBehind) {
  Running running(EndlessJob(), 2);
  ASSERT_NE(running.first_round, "") << running.run.Wait(absl::ZeroDuration());
  std::vector<Watched> children;
  for (pid_t child : ChildrenOf(running.run.pid())) children.emplace_back(child);
  EXPECT_EQ(children.size(), 3u);
  running.run.Signal(SIGKILL);
  for (const Watched& child : children) EXPECT_TRUE(child.GoneWithin(kPatience));
}

}  // namespace
}  // namespace rondo::e2e
