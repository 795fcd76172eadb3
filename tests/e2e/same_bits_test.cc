// Runs that must agree to the last bit, or to rounding: the same job twice, local rounds of one
// step and parallel mode, a TorchScript copy and the built-in model.
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

// The rounds of a whole run with `workers` workers; empty after a failure, which is reported.
std::vector<json> RoundsOf(const DigitsJob& job, int workers, const std::string& extra_file = "") {
  const std::string folder = MakeJobFolder(job);
  if (!extra_file.empty()) CopyInto(extra_file, folder);
  if (!job.init.empty()) CopyInto("tests/golden/public/p1/" + job.init, folder);
  const std::string state = folder + "/state";
  const Ended run = RunToEnd(RondoRun(folder + "/job.yaml", workers, state));
  EXPECT_EQ(run.exit_code, 0) << run;
  if (run.exit_code != 0) return {};
  const Ended rounds = RunToEnd(Rondo({"rounds", "--state", state, "--json"}));
  EXPECT_EQ(rounds.exit_code, 0) << rounds;
  return JsonLines(rounds.out);
}

class SameBitsTest : public testing::TestWithParam<int> {};

TEST_P(SameBitsTest, TheSameJobAndSeedGiveEqualStatesInBothModes) {
  DigitsJob job;
  // Twenty steps in parallel mode, then local rounds.
  job.sync = "{policy: post_local, switch_step: 20, base_steps: 4, round_steps: 10}";
  const std::vector<json> first = RoundsOf(job, GetParam());
  const std::vector<json> second = RoundsOf(job, GetParam());
  ASSERT_EQ(first.size(), 7u);
  ASSERT_EQ(second.size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i]["mode"], i < 2 ? "parallel" : "local");
    EXPECT_EQ(first[i]["members"].size(), static_cast<size_t>(GetParam()));
    EXPECT_EQ(first[i]["state_hash"], second[i]["state_hash"]) << "round " << i + 1;
    EXPECT_EQ(first[i]["mean_loss"], second[i]["mean_loss"]) << "round " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, SameBitsTest, testing::Values(1, 2, 3, 4, 7));

void ExpectClose(const json& a, const json& b, const char* key, double tolerance) {
  const double x = a[key].get<double>();
  const double y = b[key].get<double>();
  EXPECT_LE(std::abs(x - y), tolerance * std::abs(y)) << key << " of round " << a["round"];
}

TEST(EqualTrajectoriesTest, LocalRoundsOfOneStepAreParallelMode) {
  DigitsJob job;
  job.sync = "{policy: constant, base_steps: 1}";
  const std::vector<json> local = RoundsOf(job, 3);
  job.sync = "{policy: parallel, round_steps: 1}";
  const std::vector<json> parallel = RoundsOf(job, 3);
  ASSERT_EQ(local.size(), 40u);
  ASSERT_EQ(parallel.size(), 40u);
  for (size_t i = 0; i < local.size(); ++i) {
    EXPECT_EQ(local[i]["mode"], "local");
    EXPECT_EQ(parallel[i]["mode"], "parallel");
    // Averages of updates and updates by averages differ by rounding alone: 40 steps of 6e-8, and
    // what training makes of it.
    ExpectClose(local[i], parallel[i], "mean_loss", 2e-5);
    ExpectClose(local[i], parallel[i], "parameter_norm_squared", 2e-5);
  }
}

TEST(EqualTrajectoriesTest, ATorchScriptCopyOfTheMlpTrainsAsTheBuiltInOne) {
  DigitsJob job;
  job.init = "init.safetensors";
  const std::vector<json> built_in = RoundsOf(job, 2);
  job.model = "{torchscript: mlp.pt}";
  const std::vector<json> script = RoundsOf(job, 2, "tests/golden/mlp.pt");
  ASSERT_EQ(built_in.size(), 10u);
  ASSERT_EQ(script.size(), 10u);
  for (size_t i = 0; i < built_in.size(); ++i) {
    ExpectClose(script[i], built_in[i], "mean_loss", 1e-6);
    ExpectClose(script[i], built_in[i], "parameter_norm_squared", 1e-6);
  }
}

}  // namespace
}  // namespace rondo::e2e
