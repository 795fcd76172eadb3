// The golden trajectories with real processes: `rondo run` with K workers against what PyTorch
// gave, inside each case's tolerance. README.md here defines every quantity.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"
#include "tests/golden/golden_case.h"

namespace rondo::e2e {
namespace {

using nlohmann::json;

std::string SyncText(const json& sync) {
  const std::string policy = sync["policy"];
  if (policy == "parallel" || policy == "sparse") {
    return fmt::format("{{policy: parallel, round_steps: {}}}", sync["round_steps"].get<int>());
  }
  if (policy == "constant") {
    return fmt::format("{{policy: constant, base_steps: {}}}", sync["h"].get<int>());
  }
  return fmt::format("{{policy: power, base_steps: {}, alpha: {}, power: {}}}",
                     sync["h_base"].get<int>(), sync["alpha"].get<double>(),
                     sync["p"].get<double>());
}

std::string OptimizerText(const json& optimizer, const json& sync) {
  std::string text =
      fmt::format("{{kind: {}, weight_decay: {}, no_decay: []",
                  optimizer["name"].get<std::string>(), optimizer["weight_decay"].get<double>());
  if (optimizer["name"] == "sgd") {
    text += fmt::format(", momentum: {}, nesterov: {}", optimizer["momentum"].get<double>(),
                        optimizer["nesterov"].get<bool>());
  } else {
    text += fmt::format(", betas: [{}, {}], eps: {}", optimizer["beta1"].get<double>(),
                        optimizer["beta2"].get<double>(), optimizer["eps"].get<double>());
  }
  if (sync.contains("clip_norm") && sync["clip_norm"].is_number()) {
    text += fmt::format(", clip_norm: {}", sync["clip_norm"].get<double>());
  }
  return text + "}";
}

DigitsJob JobOf(const GoldenCase& golden, const json& settings) {
  DigitsJob job;
  job.seed = fmt::format("{}", golden.shuffle ? golden.shuffle_seed : golden.seed);
  if (golden.model == "convnet") job.model = "{builtin: convnet}";
  job.init = "init.safetensors";
  job.shuffle = golden.shuffle ? "true" : "false";
  job.batch = fmt::format("{{per_worker: {}}}", golden.batch_per_worker);
  job.optimizer = OptimizerText(settings["optimizer"], settings["sync"]);
  job.schedule =
      fmt::format("{{kind: {}, steps: {}, peak: {}, final: {}, warmup_steps: {}}}", golden.schedule,
                  golden.steps, golden.rate_peak, golden.rate_final, golden.warmup_steps);
  job.sync = SyncText(settings["sync"]);
  job.workers = fmt::format("{{min: {}, max: {}}}", golden.workers, golden.workers);
  if (golden.density > 0) {
    job.more = fmt::format("collective: {{kind: sparse, density: {}}}\n", golden.density);
  }
  return job;
}

void CompareRounds(const std::vector<json>& rounds, const GoldenCase& golden) {
  ASSERT_EQ(rounds.size(), golden.starts.size());
  for (size_t i = 0; i < rounds.size(); ++i) {
    SCOPED_TRACE(fmt::format("round {}", i + 1));
    const json& round = rounds[i];
    EXPECT_EQ(round["first_step"].get<int64_t>(), golden.starts[i]);
    EXPECT_EQ(round["length"].get<int64_t>(), golden.lengths[i]);
    EXPECT_EQ(round["mode"], golden.parallel ? "parallel" : "local");
    EXPECT_EQ(round["members"].size(), static_cast<size_t>(golden.workers));
    EXPECT_LE(RelativeDifference(round["rate_first"].get<double>(), golden.rates[i]),
              golden.tolerance.rate);
    EXPECT_LE(RelativeDifference(round["mean_loss"].get<double>(), golden.train_losses[i]),
              golden.tolerance.train_loss);
    EXPECT_LE(
        RelativeDifference(round["parameter_norm_squared"].get<double>(), golden.param_sqnorms[i]),
        golden.tolerance.param_sqnorm);
    if (golden.density > 0) {
      EXPECT_LE(RelativeDifference(round["residual_norm_squared"].get<double>(),
                                   golden.residual_sqnorms[i]),
                golden.tolerance.residual_sqnorm);
    }
  }
}

class GoldenRunTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenRunTest, RealProcessesReproduceTheTrajectory) {
  const std::string cases = Runfile("tests/golden/public");
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(cases, GetParam()));
  const json settings = json::parse(ReadFile(cases + "/" + GetParam() + "/case.json"));
  const std::string folder = MakeJobFolder(JobOf(golden, settings));
  CopyInto("tests/golden/public/" + GetParam() + "/init.safetensors", folder);
  const std::string state = folder + "/state";

  const Ended run =
      RunToEnd(RondoRun(folder + "/job.yaml", static_cast<int>(golden.workers), state));
  ASSERT_EQ(run.exit_code, 0) << run;
  const Ended rounds = RunToEnd(Rondo({"rounds", "--state", state, "--json"}));
  ASSERT_EQ(rounds.exit_code, 0) << rounds;
  CompareRounds(JsonLines(rounds.out), golden);

  const json summary = JsonLines(run.out).back();
  EXPECT_LE(std::abs(summary["test_accuracy"].get<double>() - golden.test_accuracy),
            golden.tolerance.test_accuracy);
  EXPECT_LE(RelativeDifference(summary["test_loss"].get<double>(), golden.test_loss),
            golden.tolerance.test_loss);

  ASSERT_OK_AND_ASSIGN(const std::vector<float> init, LoadFlat(golden.init_path));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected, LoadFlat(golden.final_path));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> params, LoadFlat(state + "/model.safetensors"));
  ASSERT_EQ(params.size(), expected.size());
  EXPECT_LE(ParameterDifference(params, expected, init), golden.tolerance.final_params);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenRunTest,
                         testing::Values("p1", "q1", "q2", "q3", "q4", "s1", "s2"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rondo::e2e
