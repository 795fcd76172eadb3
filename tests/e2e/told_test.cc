// What users are told when something is gone: the workers, the coordinator, a name, the job itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"
#include "tests/e2e/watched_run.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A job that no test waits to see the end of.
DigitsJob Endless(const std::string& workers) {
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  job.workers = workers;
  return job;
}

Ended Ask(std::vector<std::string> verb, const std::string& state) {
  verb.insert(verb.end(), {"--state", state});
  return RunToEnd(Rondo(verb));
}

TEST(ToldTest, WhatAPausedJobWithoutWorkersCanStillSave) {
  Cluster cluster(MakeJobFolder(Endless("{min: 2, max: 2}")));
  Program& a = cluster.AddWorker("a");
  Program& b = cluster.AddWorker("b");
  ASSERT_TRUE(cluster.WaitForOpenRound(2));
  ASSERT_EQ(Ask({"pause"}, cluster.state()).exit_code, 0);
  ASSERT_TRUE(cluster.WaitFor([](const json& status) { return status["state"] == "paused"; }));
  EXPECT_EQ(cluster.Status()["member_names"], json::array({"a", "b"}));
  a.Signal(SIGKILL);
  b.Signal(SIGKILL);
  ASSERT_TRUE(cluster.WaitFor([](const json& status) { return status["members"] == 0; }));
  const Ended save = Ask({"checkpoint"}, cluster.state());
  EXPECT_EQ(save.exit_code, 2) << save;
  EXPECT_THAT(save.err, AllOf(HasSubstr("cannot be saved now"), HasSubstr("a and b"),
                              HasSubstr("there is no checkpoint")));
  const Ended stop = Ask({"stop", "--json"}, cluster.state());
  EXPECT_EQ(JsonLines(stop.out).at(0)["step"], 0) << stop;
  const Ended ended = cluster.coordinator().Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST(ToldTest, WhenAndWhyAKilledWorkerWasDropped) {  // S02
  DigitsJob job = Endless("{min: 2, max: 3}");
  WatchedRun run(MakeJobFolder(job), 3);
  ASSERT_TRUE(run.WaitForRound(1));
  kill(run.WorkerPid(1), SIGKILL);
  Program watch(Rondo({"watch", "--state", run.state(), "--from", "1", "--json"}));
  const std::string first = watch.WaitForLine(R"(["worker-0","worker-2"])");
  ASSERT_NE(first, "");
  const std::string number = std::to_string(json::parse(first)["round"].get<uint64_t>());
  const Ended explained = Ask({"explain", number, "--json"}, run.state());
  ASSERT_EQ(explained.exit_code, 0) << explained;
  const json changes = JsonLines(explained.out).at(0)["changes"];
  ASSERT_EQ(changes.size(), 1u) << changes;
  EXPECT_EQ(changes[0]["worker"], "worker-1");
  EXPECT_THAT(changes[0]["text"].get<std::string>(), HasSubstr("its connection broke"));
  EXPECT_GT(changes[0]["at"], 0);
  ASSERT_EQ(Ask({"stop"}, run.state()).exit_code, 0);
  run.Wait();
}

TEST(ToldTest, ThatARunWhoseCoordinatorWasKilledGoesOn) {  // S69
  Cluster cluster(MakeJobFolder(Endless("{min: 1, max: 1}")));
  cluster.AddWorker("a");
  ASSERT_TRUE(cluster.WaitForOpenRound(2));
  cluster.coordinator().Signal(SIGKILL);
  cluster.coordinator().Wait();
  for (const char* verb : {"pause", "resume", "checkpoint"}) {
    const Ended ended = Ask({verb}, cluster.state());
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("does not run"), HasSubstr("was killed"),
                                 HasSubstr("goes on"), Not(HasSubstr("has ended"))));
  }
  const Ended stop = Ask({"stop", "--json"}, cluster.state());
  EXPECT_EQ(stop.exit_code, 1) << stop;
  EXPECT_EQ(JsonLines(stop.out).at(0)["state"], "failed");
}

TEST(ToldTest, ASecondProcessOfALiveNameHearsOfTheEnd) {  // S12
  const std::string folder = MakeJobFolder(Endless("{min: 1, max: 2}"));
  Cluster cluster(folder);
  Program& first = cluster.AddWorker("a");
  const std::string address = ReadFile(cluster.state() + "/coordinator.address");
  Program second({Runfile("worker/rondo-worker"), "--coordinator",
                  address.substr(0, address.find('\n')), "--name", "a", "--files", folder});
  // Either of the two is in.
  ASSERT_TRUE(cluster.WaitFor([](const json& status) { return !status["reason"].empty(); }));
  Program& waiting =
      second.WaitForLogLine("told_to_wait", absl::Seconds(20)).empty() ? first : second;
  ASSERT_NE(waiting.WaitForLogLine("told_to_wait"), "");
  cluster.coordinator().Signal(SIGTERM);
  EXPECT_EQ(cluster.coordinator().Wait().exit_code, 0);
  for (Program* worker : {&first, &second}) {
    const Ended ended = worker->Wait(absl::Seconds(60));
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
}

TEST(ToldTest, AJobThatNeverTrainedHasEndedAtOnce) {
  Cluster cluster(MakeJobFolder(Endless("{min: 1, max: 1}")));
  const Ended stop = Ask({"stop", "--json"}, cluster.state());
  EXPECT_EQ(stop.exit_code, 0) << stop;
  const json said = JsonLines(stop.out).at(0);
  EXPECT_EQ(said["stopping"], false);
  EXPECT_EQ(said["step"], 0);
  EXPECT_EQ(said["state"], "stopped");
  EXPECT_EQ(cluster.coordinator().Wait().exit_code, 0);
}

TEST(ToldTest, AWrongNumberOfWorkersIsToldByItsFlag) {
  DigitsJob job;
  job.workers = "{min: 2, max: 3}";
  const std::string folder = MakeJobFolder(job);
  const std::string state = folder + "/state";
  {
    Program run(RondoRun(folder + "/job.yaml", 2, state));
    ASSERT_NE(run.Wait().exit_code, 2);
  }
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 4, state));
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("--workers 4"), HasSubstr("from 2 to 3")));
}

TEST(ToldTest, WhatIsWrongWithAWord) {
  const std::string state = NewFolder("none");
  const struct {
    std::vector<std::string> verb;
    const char* says;
    const char* never;
  } cases[] = {
      {{"pause", "--reason", "\xff"}, "--reason: its value is not UTF-8", "no run"},
      {{"stop", "--reason", "\xc3"}, "--reason: its value is not UTF-8", "no run"},
      {{"explain", "0"}, "'0' is no whole number from 1 on", "did you mean"},
      {{"explain", "abc"}, "'abc' is no whole number from 1 on", "did you mean"},
  };
  for (const auto& c : cases) {
    const Ended ended = Ask(c.verb, state);
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(c.says), Not(HasSubstr(c.never))));
  }
  const Ended hint = RunToEnd(Rondo({"explain", "some-state"}));
  EXPECT_THAT(hint.err, HasSubstr("did you mean --state some-state?"));
}

}  // namespace
}  // namespace rondo::e2e
