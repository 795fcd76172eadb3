// Jobs whose collective is sparse, or chosen: what users are told, with real processes. Numbers
// (S55, ...) are those of tests/README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A run that has ended.
struct EndedRun {
  EndedRun(const DigitsJob& job, int workers) : state(NewFolder("state")) {
    file = MakeJobFolder(job) + "/job.yaml";
    ended = RunToEnd(RondoRun(file, workers, state));
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
  std::vector<json> Ask(std::vector<std::string> verb) const {
    verb.insert(verb.end(), {"--state", state, "--json"});
    const Ended asked = RunToEnd(Rondo(verb));
    EXPECT_EQ(asked.exit_code, 0) << asked;
    return JsonLines(asked.out);
  }

  std::string state;
  std::string file;
  Ended ended;
};

TEST(SparseRunTest, ARoundSaysWhatItTookSentAndLeft) {
  for (const char* sync : {"{policy: constant, base_steps: 4}", "{policy: parallel}"}) {
    DigitsJob job;
    job.sync = sync;
    job.more = "collective: {kind: sparse, density: 0.05}\n";
    const EndedRun run(job, 3);
    const std::vector<json> rounds = run.Ask({"rounds"});
    ASSERT_FALSE(rounds.empty());
    for (const json& round : rounds) {
      EXPECT_EQ(round["collective"], "sparse");
      EXPECT_EQ(round["density"], 0.05);
      const json& sparse = round["sparse"];
      const double k = std::floor(0.05 * 17226);
      EXPECT_LE(sparse["entries_selected"], k);
      EXPECT_GT(sparse["entries_selected"], 0);
      EXPECT_EQ(sparse["entries_delivered"], k);
      EXPECT_GT(sparse["residual_norm"], 0);
      EXPECT_GE(sparse["imbalance"], 1);
      // The bound of 6k words a member, in bytes of all workers; S55.
      EXPECT_LE(sparse["entry_bytes_sent"], sparse["reductions"].get<double>() * 3 * 6 * k * 4);
      EXPECT_GT(sparse["entry_bytes_sent"], 0);
    }
    const json totals = run.Ask({"rounds", "--totals"}).at(0);
    EXPECT_EQ(totals["collectives"].size(), 1u);
    EXPECT_EQ(totals["residuals_undelivered"], 3);
    EXPECT_EQ(run.Ask({"status"}).at(0)["residuals_undelivered"], 3);
    EXPECT_EQ(run.Ask({"replay"}).at(0)["same"], true);
  }
}

TEST(SparseRunTest, SendsWhatThePlanSays) {
  for (const char* sync : {"{policy: constant, base_steps: 4}", "{policy: parallel}"}) {
    for (const int workers : {2, 3}) {
      DigitsJob job;
      job.sync = sync;
      job.more =
          "collective: {kind: sparse, density: 0.02, warmup_steps: 8, warmup_density: 0.1}\n";
      const EndedRun run(job, workers);
      const Ended planned =
          RunToEnd(Rondo({"plan", run.file, "--workers", std::to_string(workers), "--json"}));
      ASSERT_EQ(planned.exit_code, 0) << planned;
      const json plan = JsonLines(planned.out).at(0);
      const double sent = run.Ask({"status"}).at(0)["bytes_sent"].get<double>();
      const double each = plan["bytes_total"].get<double>();
      EXPECT_NEAR(sent, workers * each, 0.08 * sent) << sync;
      const double most = workers * plan["bytes_per_sync_most"].get<double>();
      for (const json& round : run.Ask({"rounds"})) {
        const double reductions = round["sparse"]["reductions"].get<double>();
        EXPECT_LE(round["bytes_sent"].get<double>(), reductions * most) << round;
      }
    }
  }
}

TEST(SparseRunTest, TheDensityFallsInItsWarmUp) {
  DigitsJob job;
  job.more = "collective: {kind: sparse, density: 0.01, warmup_steps: 8, warmup_density: 0.16}\n";
  const EndedRun run(job, 2);
  const std::vector<json> rounds = run.Ask({"rounds"});
  ASSERT_GT(rounds.size(), 2u);
  EXPECT_EQ(rounds[0]["density"], 0.16);
  EXPECT_NEAR(rounds[1]["density"], 0.04, 1e-12);
  EXPECT_EQ(rounds[2]["density"], 0.01);
}

TEST(SparseRunTest, TheFasterCollectiveStays) {  // S54
  DigitsJob job;
  job.more = "collective: {kind: auto, density: 0.05}\n";
  const EndedRun run(job, 2);
  const std::vector<json> rounds = run.Ask({"rounds"});
  ASSERT_GT(rounds.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rounds[i]["collective"], i % 2 == 0 ? "ring" : "sparse") << i;
  }
  const std::string kept = rounds[8]["collective"].get<std::string>();
  for (size_t i = 8; i < rounds.size(); ++i) EXPECT_EQ(rounds[i]["collective"], kept) << i;
  const json story = run.Ask({"explain", std::to_string(rounds.size())}).at(0);
  EXPECT_THAT(story["collective_text"].get<std::string>(), HasSubstr(kept + " stays"));
  EXPECT_THAT(run.Ask({"status"}).at(0)["collective_text"].get<std::string>(),
              HasSubstr(kept + " stays"));
  EXPECT_EQ(run.Ask({"replay"}).at(0)["same"], true);
}

}  // namespace
}  // namespace rondo::e2e
