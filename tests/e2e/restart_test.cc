// The coordinator is killed and started again on its state directory (S69, S70): workers train on,
// the job goes on in the same round, and the parameters are those of the undisturbed run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <memory>
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

// A coordinator and its workers, each a process of its own.
class Cluster {
 public:
  Cluster(const DigitsJob& job, int workers)
      : folder_(MakeJobFolder(job)), state_(folder_ + "/state"), count_(workers) {
    Start("127.0.0.1:0");
    for (int i = 0; i < workers; ++i) {
      workers_.push_back(std::make_unique<Program>(
          std::vector<std::string>{Runfile("worker/rondo-worker"), "--coordinator", address_,
                                   "--name", "w" + std::to_string(i), "--files", folder_}));
    }
  }

  // Blocks until the round is committed; false if the job ends before.
  bool WaitForRound(uint64_t round) {
    Program watch(
        Rondo({"watch", "--coordinator", address_, "--from", std::to_string(round), "--json"}));
    return !watch.WaitForLine("\"round\":" + std::to_string(round)).empty();
  }
  void KillCoordinator() {
    coordinator_->Signal(SIGKILL);
    coordinator_->Wait();
  }
  // At the address that it had before.
  void RestartCoordinator() { Start(address_); }
  // Blocks until the coordinator has logged such an event; false if it ends before.
  bool WaitForEvent(const std::string& kind) { return !coordinator_->WaitForLogLine(kind).empty(); }
  const std::string& address() const { return address_; }

  Ended WaitForCoordinator() { return coordinator_->Wait(); }
  void ExpectWorkersDone() {
    for (const auto& worker : workers_) {
      const Ended ended = worker->Wait();
      EXPECT_EQ(ended.exit_code, 0) << ended;
    }
  }
  std::vector<json> Rounds() const {
    const Ended rounds = RunToEnd(Rondo({"rounds", "--state", state_, "--json"}));
    EXPECT_EQ(rounds.exit_code, 0) << rounds;
    return JsonLines(rounds.out);
  }
  json Status() const {
    return JsonLines(RunToEnd(Rondo({"status", "--state", state_, "--json"})).out).at(0);
  }
  std::string Model() const {
    const std::string path = folder_ + "/exported.safetensors";
    const Ended ended = RunToEnd(Rondo({"export", "--state", state_, "--out", path}));
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ReadFile(path);
  }
  const std::string& state() const { return state_; }
  std::vector<std::string> CoordinatorCommand(const std::string& listen) const {
    return {Runfile("server/rondo-coordinator"),
            "--job",
            folder_ + "/job.yaml",
            "--state",
            state_,
            "--workers",
            std::to_string(count_),
            "--listen",
            listen};
  }

 private:
  void Start(const std::string& listen) {
    coordinator_ = std::make_unique<Program>(CoordinatorCommand(listen));
    const std::string line = coordinator_->WaitForLine("address=");
    ASSERT_FALSE(line.empty()) << coordinator_->Wait();
    address_ = line.substr(line.find('=') + 1);
  }

  const std::string folder_;
  const std::string state_;
  const int count_;
  std::string address_;
  std::unique_ptr<Program> coordinator_;
  std::vector<std::unique_ptr<Program>> workers_;
};

struct Case {
  const char* name;
  const char* sync;
  const char* schedule;
  uint64_t stride;  // Rounds between kills.
};

class RestartTest : public testing::TestWithParam<Case> {};

TEST_P(RestartTest, KillsOfTheCoordinatorChangeNoBitOfTheModel) {
  DigitsJob job;
  job.sync = GetParam().sync;
  job.schedule = GetParam().schedule;
  job.more = "checkpoint: {every_steps: 1500, keep: 2}\nevaluate: {every_epochs: 16}\n";
  Cluster undisturbed(job, 3);
  EXPECT_EQ(undisturbed.WaitForCoordinator().exit_code, 0);
  undisturbed.ExpectWorkersDone();

  Cluster killed(job, 3);
  uint64_t round = 1;
  int kills = 0;
  for (; kills < 5 && killed.WaitForRound(round); ++kills) {
    killed.KillCoordinator();
    killed.RestartCoordinator();
    round += GetParam().stride;
  }
  EXPECT_EQ(kills, 5);
  const Ended ended = killed.WaitForCoordinator();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  killed.ExpectWorkersDone();

  const std::vector<json> expected = undisturbed.Rounds();
  const std::vector<json> rounds = killed.Rounds();
  ASSERT_EQ(rounds.size(), expected.size());
  for (size_t i = 0; i < rounds.size(); ++i) {
    for (const char* key : {"first_step", "length", "state_hash", "mean_loss", "samples"}) {
      EXPECT_EQ(rounds[i][key], expected[i][key]) << key << " of round " << rounds[i]["round"];
    }
  }
  EXPECT_EQ(killed.Status()["checksum"], undisturbed.Status()["checksum"]);
  EXPECT_EQ(killed.Model(), undisturbed.Model());
}

INSTANTIATE_TEST_SUITE_P(
    Phase, RestartTest,
    testing::Values(
        // Each kill falls into the steps of a round.
        Case{"LocalTraining", "{policy: constant, base_steps: 600}",
             "{kind: cosine, steps: 6000, peak: 0.1, final: 1e-3, warmup_steps: 5}", 2},
        // Most of the time is reduces and what lies between two rounds.
        Case{"ReducesAndBorders", "{policy: constant, base_steps: 1}",
             "{kind: cosine, steps: 1500, peak: 0.1, final: 1e-3, warmup_steps: 5}", 100},
        Case{"ParallelSteps", "{policy: parallel, round_steps: 100}",
             "{kind: cosine, steps: 3000, peak: 0.1, final: 1e-3, warmup_steps: 5}", 3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RestartAtTheEndTest, ASecondStartSaysThatTheRunHasEnded) {
  Cluster cluster({}, 1);
  EXPECT_EQ(cluster.WaitForCoordinator().exit_code, 0);
  cluster.ExpectWorkersDone();
  const Ended again = RunToEnd(cluster.CoordinatorCommand("127.0.0.1:0"));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_THAT(again.out, HasSubstr("has ended (done) after 40 steps"));
}

TEST(StoppedRunTest, TheSameCommandGoesOnToTheModelOfTheUndisturbedRun) {  // S36
  DigitsJob job;
  job.schedule = "{kind: cosine, steps: 8000, peak: 0.1, final: 1e-3, warmup_steps: 5}";
  job.sync = "{policy: constant, base_steps: 8}";
  const std::string folder = MakeJobFolder(job);
  const auto model_of = [](const std::string& state) {
    return ReadFile(state + "/model.safetensors");
  };
  const std::string undisturbed = folder + "/undisturbed";
  ASSERT_EQ(RunToEnd(RondoRun(folder + "/job.yaml", 2, undisturbed)).exit_code, 0);

  const std::string state = NewFolder("state");
  Program run(RondoRun(folder + "/job.yaml", 2, state));
  ASSERT_TRUE(run.WaitForFile(state + "/coordinator.address"));
  {
    Program watch(Rondo({"watch", "--state", state, "--from", "1", "--json"}));
    ASSERT_FALSE(watch.WaitForLine("\"round\"").empty());
  }
  run.Signal(SIGTERM);
  const Ended stopped = run.Wait();
  ASSERT_EQ(stopped.exit_code, 5) << stopped;
  const Ended again = RunToEnd(RondoRun(folder + "/job.yaml", 2, state));
  ASSERT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(JsonLines(again.out).back()["steps"], 8000);
  EXPECT_EQ(model_of(state), model_of(undisturbed)) << "not the same bits";
}

// Its workers are known to be gone: nobody is waited for (workers.rewind_after_seconds is 300).
TEST(KilledRunTest, TheSameCommandGoesOnAtOnceWithFewerWorkers) {  // S36
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 2000, peak: 0.01}";
  job.sync = "{policy: constant, base_steps: 8}";
  job.batch = "{global: 16}";
  job.more = "checkpoint: {every_steps: 40}\n";
  const std::string folder = MakeJobFolder(job);
  const std::string state = NewFolder("state");
  Program run(RondoRun(folder + "/job.yaml", 3, state));
  ASSERT_TRUE(run.WaitForFile(state + "/coordinator.address"));
  {
    Program watch(Rondo({"watch", "--state", state, "--from", "1", "--json"}));
    ASSERT_FALSE(watch.WaitForLine("\"first_step\":200").empty());
  }
  run.Signal(SIGKILL);
  run.Wait();
  Ended again;
  do {  // Its coordinator dies with it, in a moment.
    again = RunToEnd(RondoRun(folder + "/job.yaml", 1, state));
  } while (again.exit_code == 2 && again.err.find("another coordinator") != std::string::npos);
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(JsonLines(again.out).back()["steps"], 2000);
}

TEST(DamagedJournalTest, IsRefusedWithAWayOut) {
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  Cluster cluster(job, 1);
  ASSERT_TRUE(cluster.WaitForRound(3));
  cluster.KillCoordinator();
  WriteFile(cluster.state() + "/journal.db", std::string(100'000, 'x'));
  const Ended refused = RunToEnd(cluster.CoordinatorCommand("127.0.0.1:0"));
  EXPECT_EQ(refused.exit_code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("Ways out"));
}

TEST(SecondCoordinatorTest, ExitsAndSaysWhoHoldsTheDirectory) {  // S72
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  Cluster cluster(job, 1);
  const Ended second = RunToEnd(cluster.CoordinatorCommand("127.0.0.1:0"));
  EXPECT_EQ(second.exit_code, 2) << second;
  EXPECT_THAT(second.err, HasSubstr("another coordinator runs on the state directory"));
  EXPECT_TRUE(cluster.WaitForRound(1));
}

TEST(SecondCoordinatorTest, IfTheLockWasDeletedTheFirstEndsBeforeItWritesAgain) {  // S72
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  job.sync = "{policy: constant, base_steps: 4000000}";  // The first has nothing to write for long.
  Cluster cluster(job, 1);
  ASSERT_TRUE(cluster.WaitForEvent("group_formed"));
  std::filesystem::remove(cluster.state() + "/lock");
  Program second(cluster.CoordinatorCommand("127.0.0.1:0"));
  ASSERT_NE(second.WaitForLine("address="), "") << second.Wait();
  EXPECT_NE(RunToEnd(Rondo({"pause", "--coordinator", cluster.address()})).exit_code, 0);
  const Ended first = cluster.WaitForCoordinator();
  EXPECT_EQ(first.exit_code, 70) << first;
  EXPECT_THAT(first.err, HasSubstr("another coordinator has written"));
  const json status = cluster.Status();  // The second's journal goes on.
  EXPECT_EQ(status["term"], 2);
}

}  // namespace
}  // namespace rondo::e2e
