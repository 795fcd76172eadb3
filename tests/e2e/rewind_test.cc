// All workers die, or everything does: the job goes on from its checkpoint, with the bits of a run
// that nothing disturbed where that is promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// 150 rounds of 8 steps; a checkpoint at every fifth border.
DigitsJob SavingJob() {
  DigitsJob job;
  job.schedule = "{kind: cosine, steps: 1200, peak: 0.05, final: 1e-3, warmup_steps: 5}";
  job.sync = "{policy: constant, base_steps: 8}";
  job.workers = "{min: 2, max: 2, wait_seconds: 1}";
  job.more = "checkpoint: {every_steps: 40, keep: 2}\n";
  return job;
}

// A coordinator and its workers, one process each. Destroying it kills them.
class Cluster {
 public:
  explicit Cluster(const DigitsJob& job)
      : folder_(MakeJobFolder(job)), state_(folder_ + "/state") {}

  void StartCoordinator() {
    const std::string address_file = NewFolder("address") + "/address";
    coordinator_ = std::make_unique<Program>(std::vector<std::string>{
        Runfile("server/rondo-coordinator"), "--job", folder_ + "/job.yaml", "--state", state_,
        "--files", folder_, "--address-file", address_file});
    ASSERT_TRUE(coordinator_->WaitForFile(address_file)) << coordinator_->Wait();
    address_ = ReadFile(address_file);
    address_.erase(address_.find('\n'));
  }
  void StartWorkers(const std::vector<std::string>& names) {
    workers_.clear();
    for (const std::string& name : names) {
      workers_.push_back(std::make_unique<Program>(
          std::vector<std::string>{Runfile("worker/rondo-worker"), "--coordinator", address_,
                                   "--name", name, "--files", folder_, "--threads", "1"}));
    }
  }
  // Returns once the job has committed `step` steps.
  void WaitForStep(int step) {
    Program watch(Rondo({"watch", "--state", state_, "--from", "1", "--json"}));
    const std::string line = "\"first_step\":" + std::to_string(step);
    ASSERT_NE(watch.WaitForLine(line), "") << watch.Wait(absl::ZeroDuration());
  }
  void KillWorkers() {
    for (const auto& worker : workers_) worker->Signal(SIGKILL);
    for (const auto& worker : workers_) worker->Wait();
  }
  void KillCoordinator() {
    coordinator_->Signal(SIGKILL);
    coordinator_->Wait();
  }
  // The end of all; `log_` is what the coordinator said.
  void ExpectDone() {
    const Ended ended = coordinator_->Wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    log_ = ended.out + ended.err;
    for (const auto& worker : workers_) {
      const Ended worker_ended = worker->Wait();
      EXPECT_EQ(worker_ended.exit_code, 0) << worker_ended;
    }
  }
  json Status() const {
    return JsonLines(RunToEnd(Rondo({"status", "--state", state_, "--json"})).out).at(0);
  }
  // The final model's bytes.
  std::string Model() const {
    const std::string path = folder_ + "/model.safetensors";
    const Ended exported = RunToEnd(Rondo({"export", "--state", state_, "--out", path}));
    EXPECT_EQ(exported.exit_code, 0) << exported;
    return ReadFile(path);
  }
  // Returns once worker w1 has saved its partial of this round and step.
  void WaitForPartial(int round, int step) {
    const std::string folder = state_ + "/checkpoints/partials/round-" + std::to_string(round) +
                               "/step-" + std::to_string(step);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(coordinator_->WaitForFile(folder + "/partial-w1.sha256"));
  }
  // Blocks until the coordinator has logged such an event; false if it ends before.
  bool WaitForEvent(const std::string& kind) { return !coordinator_->WaitForLogLine(kind).empty(); }
  const std::string& log() const { return log_; }
  const std::string& folder() const { return folder_; }
  const std::string& state() const { return state_; }

 private:
  const std::string folder_;
  const std::string state_;
  std::string address_;
  std::string log_;
  std::unique_ptr<Program> coordinator_;
  std::vector<std::unique_ptr<Program>> workers_;
};

struct Undisturbed {
  std::string model;
  json checksum;
};

// What SavingJob comes to.
const Undisturbed& UndisturbedRun() {
  static const Undisturbed* const run = [] {
    Cluster cluster(SavingJob());
    cluster.StartCoordinator();
    cluster.StartWorkers({"w0", "w1"});
    cluster.ExpectDone();
    return new Undisturbed{cluster.Model(), cluster.Status()["checksum"]};
  }();
  return *run;
}

void ExpectSameAsUndisturbed(const Cluster& cluster) {
  const json status = cluster.Status();
  EXPECT_EQ(status["state"], "done");
  EXPECT_EQ(status["step"], 1200);
  EXPECT_EQ(status["checksum"], UndisturbedRun().checksum);
  EXPECT_EQ(cluster.Model(), UndisturbedRun().model) << "not the same bits";
}

TEST(RewindTest, AllWorkersDieAndNewOnesGoOnFromTheCheckpoint) {  // S23, S29, S40, S47
  Cluster cluster(SavingJob());
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForStep(200);
  cluster.KillWorkers();
  cluster.StartWorkers({"w0", "w1"});
  cluster.ExpectDone();
  ExpectSameAsUndisturbed(cluster);
}

TEST(RewindTest, EverythingDiesAndGoesOnFromTheCheckpoint) {  // S36, S84
  Cluster cluster(SavingJob());
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForStep(200);
  cluster.KillCoordinator();
  cluster.KillWorkers();
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.ExpectDone();
  ExpectSameAsUndisturbed(cluster);
}

TEST(RewindTest, CheckpointsInASharedFolderDoTheSame) {
  DigitsJob job = SavingJob();
  job.more = "checkpoint: {every_steps: 40, keep: 2, shared_dir: shared}\n";
  Cluster cluster(job);
  std::filesystem::create_directory(cluster.folder() + "/shared");
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForStep(200);
  cluster.KillWorkers();
  cluster.StartWorkers({"w0", "w1"});
  cluster.ExpectDone();
  ExpectSameAsUndisturbed(cluster);
}

TEST(RewindTest, WhileTheFolderOfCheckpointsIsAwayItWaitsAndLosesNothing) {
  Cluster cluster(SavingJob());
  const std::string folder = cluster.state() + "/checkpoints";
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForStep(200);
  cluster.KillWorkers();
  std::filesystem::rename(folder, folder + ".unmounted");
  cluster.StartWorkers({"w0", "w1"});
  ASSERT_TRUE(cluster.WaitForEvent("checkpoint_away"));
  EXPECT_THAT(cluster.Status()["reason"].get<std::string>(), HasSubstr(folder));
  std::filesystem::rename(folder + ".unmounted", folder);
  cluster.ExpectDone();
  ExpectSameAsUndisturbed(cluster);
}

// The way out that a damaged journal's error names, with workers that are a hundred rounds ahead.
TEST(OldCopyTest, OfTheStateDirectoryIsPutBackWhileWorkersTrainOn) {
  namespace fs = std::filesystem;
  Cluster cluster(SavingJob());
  const std::string copy = cluster.folder() + "/copy";
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForStep(104);
  cluster.KillCoordinator();
  fs::copy(cluster.state(), copy, fs::copy_options::recursive);
  cluster.StartCoordinator();
  cluster.WaitForStep(400);
  cluster.KillCoordinator();
  fs::remove_all(cluster.state());
  fs::copy(copy, cluster.state(), fs::copy_options::recursive);
  cluster.StartCoordinator();
  cluster.ExpectDone();
  EXPECT_THAT(cluster.log(), HasSubstr("other_history"));
  ExpectSameAsUndisturbed(cluster);
}

// The samples, not the bits, are what another number of workers has in common.
TEST(RewindTest, AnotherNumberOfWorkersTakesTheRunUp) {
  DigitsJob job = SavingJob();
  job.batch = "{global: 16}";
  // Who does not come back is waited for, in case it holds the state.
  job.workers = "{min: 1, max: 3, wait_seconds: 1, rewind_after_seconds: 1}";
  for (const auto& names : std::vector<std::vector<std::string>>{{"w0", "w1", "w2"}, {"w1"}}) {
    Cluster cluster(job);
    cluster.StartCoordinator();
    cluster.StartWorkers({"w0", "w1"});
    cluster.WaitForStep(200);
    cluster.KillCoordinator();
    cluster.KillWorkers();
    cluster.StartCoordinator();
    cluster.StartWorkers(names);
    cluster.ExpectDone();
    const json status = cluster.Status();
    EXPECT_EQ(status["state"], "done");
    EXPECT_EQ(status["step"], 1200);
  }
}

// Two rounds of 1200 steps, with partials.
DigitsJob LongRoundsJob() {
  DigitsJob job = SavingJob();
  job.schedule = "{kind: cosine, steps: 2400, peak: 0.05, final: 1e-3, warmup_steps: 5}";
  job.sync = "{policy: constant, base_steps: 1200}";
  job.more = "checkpoint: {every_steps: 40, keep: 2, partials: true}\n";
  return job;
}

TEST(PartialTest, EverythingDiesAndALongRoundGoesOnInItsMiddle) {
  Cluster undisturbed(LongRoundsJob());
  undisturbed.StartCoordinator();
  undisturbed.StartWorkers({"w0", "w1"});
  undisturbed.ExpectDone();

  Cluster cluster(LongRoundsJob());
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.WaitForPartial(2, 1320);
  cluster.KillCoordinator();
  cluster.KillWorkers();
  cluster.StartCoordinator();
  cluster.StartWorkers({"w0", "w1"});
  cluster.ExpectDone();
  EXPECT_THAT(cluster.log(), HasSubstr("round_resumed"));
  EXPECT_THAT(cluster.log(), Not(HasSubstr("rewound")));
  EXPECT_EQ(cluster.Model(), undisturbed.Model()) << "not the same bits";
  EXPECT_EQ(cluster.Status()["checksum"], undisturbed.Status()["checksum"]);
}

}  // namespace
}  // namespace rondo::e2e
