// A running job is steered and asked by its user; its journal is explained and replayed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proto/rondo/v1/journal.pb.h"
#include "server/edge/record_seal.h"
#include "server/edge/sqlite.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using server::SqliteDatabase;
using server::SqliteMode;
using server::SqliteStatement;
using testing::HasSubstr;

// A run in the background that has committed a round.
struct Running {
  Running(const DigitsJob& job, int workers)
      : folder(MakeJobFolder(job)),
        state(NewFolder("state")),
        run(RondoRun(folder + "/job.yaml", workers, state)) {
    if (!run.WaitForFile(state + "/coordinator.address")) return;
    watch.emplace(Rondo({"watch", "--state", state, "--from", "1", "--json"}));
    began = !watch->WaitForLine("\"round\"").empty();
  }
  // The answer of `rondo VERB... --state DIR --json`.
  json Ask(std::vector<std::string> verb) const {
    verb.insert(verb.end(), {"--state", state, "--json"});
    const Ended ended = RunToEnd(Rondo(verb));
    EXPECT_EQ(ended.exit_code, 0) << ended;
    const std::vector<json> lines = JsonLines(ended.out);
    return lines.empty() ? json() : lines.front();
  }
  // Asks again and again until the job is in that state.
  json WaitForState(const std::string& wanted) const {
    json status = Ask({"status"});
    while (!status.is_null() && status["state"] != wanted) status = Ask({"status"});
    return status;
  }

  std::string folder;
  std::string state;
  Program run;
  std::optional<Program> watch;
  bool began = false;
};

// A job that no test waits to see the end of.
DigitsJob EndlessJob() {
  DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  return job;
}

TEST(SteerTest, AJobRestsSavesAndGoesOn) {
  Running running(EndlessJob(), 2);
  ASSERT_TRUE(running.began) << running.run.Wait(absl::ZeroDuration());
  const json pause = running.Ask({"pause", "--reason", "lunch"});
  const json paused = running.WaitForState("paused");
  EXPECT_EQ(paused["step"], pause["step"]);
  EXPECT_THAT(paused["reason"].get<std::string>(), HasSubstr("lunch"));
  EXPECT_EQ(paused["members"], 2);
  const json save = running.Ask({"checkpoint"});
  EXPECT_EQ(save["step"], pause["step"]);
  while (running.Ask({"checkpoint"})["done"] == false) {
  }
  EXPECT_EQ(running.Ask({"status"})["state"], "paused");
  EXPECT_EQ(running.Ask({"resume"})["done"], true);
  const uint64_t step = pause["step"].get<uint64_t>();
  EXPECT_NE(running.watch->WaitForLine("\"first_step\":" + std::to_string(step) + ","), "");
  running.run.Signal(SIGINT);
  EXPECT_EQ(running.run.Wait().exit_code, 5);
}

TEST(SteerTest, ADrainedWorkerLeavesWithCodeZeroAndTheOthersTrainOn) {  // S18, rule 16
  Running running(EndlessJob(), 3);
  ASSERT_TRUE(running.began) << running.run.Wait(absl::ZeroDuration());
  const json drain = running.Ask({"drain", "worker-1"});
  const std::string round = running.watch->WaitForLine(R"(["worker-0","worker-2"])");
  ASSERT_NE(round, "");
  EXPECT_EQ(json::parse(round)["first_step"], drain["step"]);
  EXPECT_EQ(running.Ask({"drain", "worker-1"})["done"], true);
  const Ended unknown = RunToEnd(Rondo({"drain", "worker-7", "--state", running.state}));
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'worker-0'"));

  const std::string number = std::to_string(json::parse(round)["round"].get<uint64_t>());
  const json story = running.Ask({"explain", number});
  EXPECT_EQ(story["fate"], "committed");
  EXPECT_EQ(story["length_reason"], "base_steps");
  ASSERT_EQ(story["changes"].size(), 1u) << story;
  EXPECT_EQ(story["changes"][0]["worker"], "worker-1");
  EXPECT_EQ(story["changes"][0]["kind"], "gone");

  EXPECT_EQ(running.Ask({"stop"})["stopping"], true);
  const Ended ended = running.run.Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.err.find("worker-1 ended"), std::string::npos) << ended;
  // The same from the journal, once nobody answers; then there is nothing more to steer.
  EXPECT_EQ(running.Ask({"explain", number}), story);
  const Ended late = RunToEnd(Rondo({"pause", "--state", running.state}));
  EXPECT_EQ(late.exit_code, 2) << late;
  EXPECT_THAT(late.err, HasSubstr("has ended"));
  EXPECT_EQ(running.Ask({"replay"})["same"], true);
}

// Changes the round's record in `table`, commits or orders.
template <typename Message>
Message Tamper(SqliteDatabase& db, const std::string& table, uint64_t round,
               void (*change)(Message*)) {
  Message message;
  {
    auto select = db.Prepare(fmt::format("SELECT record FROM {} WHERE round = ?", table).c_str());
    EXPECT_TRUE(select.ok());
    EXPECT_TRUE(*select->Bind(round).Step());
    const auto bytes = server::Unseal(select->Bytes(0));
    EXPECT_TRUE(bytes.ok() && message.ParseFromString(std::string(*bytes)));
  }
  change(&message);
  auto update = db.Prepare(fmt::format("UPDATE {} SET record = ? WHERE round = ?", table).c_str());
  EXPECT_TRUE(update.ok());
  EXPECT_TRUE(update->BindBlob(server::Seal(message.SerializeAsString())).Bind(round).Run().ok());
  return message;
}

// Changes the commit's record and the column of its hash.
void TamperWithCommit(const std::string& state, uint64_t round, void (*change)(v1::CommitRecord*)) {
  auto db = SqliteDatabase::Open(state + "/journal.db", SqliteMode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  const v1::CommitRecord commit = Tamper(*db, "commits", round, change);
  auto update = db->Prepare("UPDATE commits SET state_hash = ? WHERE round = ?");
  ASSERT_TRUE(update.ok());
  const std::string hash = fmt::format("{:016x}", commit.state_hash());
  ASSERT_TRUE(update->BindText(hash).Bind(round).Run().ok());
}

// Changes the hash of the state that the round begins from.
void TamperWithBase(const std::string& state, uint64_t round) {
  auto db = SqliteDatabase::Open(state + "/journal.db", SqliteMode::kReadWrite);
  ASSERT_TRUE(db.ok()) << db.status();
  Tamper<v1::OrderRecord>(*db, "orders", round, [](v1::OrderRecord* order) {
    order->set_base_hash(order->base_hash() + 1);
  });
}

std::vector<std::string> ReplayTrain(const std::string& folder) {
  return Rondo({"replay", "--state", folder + "/state", "--train", "--files", folder, "--bin-dir",
                Runfile(""), "--json"});
}

TEST(ReplayTest, TrainsAgainToTheSameParametersAndFindsWhatWasChanged) {
  DigitsJob job;
  job.sync = "{policy: qsr, alpha: 0.1, base_steps: 2}";
  job.more = "checkpoint: {every_steps: 10}\n";
  const std::string folder = MakeJobFolder(job);
  const Ended run = RunToEnd(RondoRun(folder + "/job.yaml", 2, folder + "/state"));
  ASSERT_EQ(run.exit_code, 0) << run;
  const json summary = JsonLines(run.out).back();

  const Ended replay = RunToEnd(ReplayTrain(folder));
  ASSERT_EQ(replay.exit_code, 0) << replay;
  const json same = JsonLines(replay.out).back();
  EXPECT_EQ(same["same"], true);
  EXPECT_EQ(same["checksum"], summary["checksum"]);
  EXPECT_EQ(same["train"]["same"], summary["rounds"]);
  EXPECT_EQ(same["train"]["ended_by"], "");

  // Another state than the one that was trained: only --train can tell.
  TamperWithCommit(folder + "/state", 3, [](v1::CommitRecord* commit) {
    commit->set_state_hash(commit->state_hash() + 1);
  });
  TamperWithBase(folder + "/state", 4);
  const Ended trained = RunToEnd(ReplayTrain(folder));
  EXPECT_EQ(trained.exit_code, 1) << trained;
  const json other = JsonLines(trained.out).back();
  ASSERT_EQ(other["found"], 0) << other;
  EXPECT_EQ(other["train"]["difference"]["round"], 3);
  EXPECT_EQ(other["train"]["difference"]["what"], "state hash");

  TamperWithCommit(folder + "/state", 3,
                   [](v1::CommitRecord* commit) { commit->set_samples(commit->samples() + 1); });
  const Ended decided = RunToEnd(Rondo({"replay", "--state", folder + "/state"}));
  EXPECT_EQ(decided.exit_code, 1) << decided;
  EXPECT_THAT(decided.out, HasSubstr("the commit of round 3: samples: journal"));
}

TEST(ReplayTest, TheRunsOfAKilledCoordinatorAreExplainedAndReplayed) {
  Running running(EndlessJob(), 2);
  ASSERT_TRUE(running.began) << running.run.Wait(absl::ZeroDuration());
  running.run.Signal(SIGKILL);
  running.run.Wait();
  while (running.Ask({"status"})["state"] == "running") {  // Its children die with it.
  }
  EXPECT_EQ(running.Ask({"explain", "1"})["fate"], "committed");
  const json replay = running.Ask({"replay"});
  EXPECT_EQ(replay["same"], true) << replay;
  EXPECT_GE(replay["commits"], 1);
}

}  // namespace
}  // namespace rondo::e2e
