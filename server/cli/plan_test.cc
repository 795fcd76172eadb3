#include "server/cli/plan.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "server/cli/exit_code.h"
#include "server/cli/plan_format.h"

namespace rondo::cli {
namespace {

using absl::StatusCode;

const std::string kDigits = "deploy/jobs/digits/";

PlanView PlanOf(const PlanOptions& options) {
  std::string warnings;
  const absl::StatusOr<PlanView> view = MakePlan(options, &warnings);
  EXPECT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(warnings, "");
  return view.ok() ? *view : PlanView{};
}

std::string WriteJob(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string SmallJob(const std::string& schedule, const std::string& sync) {
  return "name: small\nmodel: {torchscript: m.pt}\n"
         "data: {format: idx, train: {images: i, labels: l}}\nbatch: {global: 16}\n"
         "optimizer: {kind: sgd}\nschedule: " +
         schedule + "\nsync: " + sync + "\n";
}

TEST(PlanTest, TheDigitsJobHasTheseRounds) {
  const nlohmann::json json = PlanJson(PlanOf({.job_file = kDigits + "digits.yaml", .workers = 4}));
  EXPECT_EQ(json["steps"], 460);
  EXPECT_EQ(json["rounds"], 194);
  EXPECT_EQ(json["syncs"], 194);
  EXPECT_EQ(json["checksum"], 51706);
  EXPECT_EQ(json["bytes_per_sync"], 2 * 3 * (128 * 65 + 64 * 129 + 10 * 65));
  EXPECT_TRUE(json["predicted_seconds"].is_null());
}

TEST(PlanTest, CountsThePartialsOfLongRounds) {
  // Five rounds of 20 steps, three partials in each; SGD without momentum keeps no moments.
  const std::string job = WriteJob(
      "partials.yaml",
      SmallJob("{kind: constant, steps: 100, peak: 1}", "{policy: constant, base_steps: 20}") +
          "checkpoint: {every_steps: 5, partials: true}\n");
  const PlanView view = PlanOf({.job_file = job, .workers = 2, .parameters = 1000});
  EXPECT_EQ(PlanJson(view)["partials"], 15);
  EXPECT_EQ(PlanJson(view)["partial_bytes"], 15 * 2 * 4000);
  EXPECT_NE(PlanText(view, true).find("partials     15 by each of 2 workers"), std::string::npos);
}

TEST(PlanTest, ItsJsonHasExactlyTheStableNames) {
  const nlohmann::ordered_json json = PlanJson(
      PlanOf({.job_file = kDigits + "digits.yaml", .step_seconds = 0.5, .sync_seconds = 2.0}));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"steps", "rounds", "syncs", "percent_of_parallel",
                                      "longest_round", "checksum", "lengths_rle", "bytes_per_sync",
                                      "partials", "partial_bytes", "predicted_seconds"}));
  EXPECT_EQ(json["predicted_seconds"].get<double>(), 460 * 0.5 + json["syncs"].get<double>() * 2.0);
}

TEST(PlanTest, EveryExampleJobCanBePlanned) {
  for (const char* name : {"digits", "digits-parallel", "digits-constant", "digits-convnet"}) {
    EXPECT_EQ(PlanOf({.job_file = kDigits + name + ".yaml"}).plan.steps, 460) << name;
  }
}

TEST(PlanTest, AParallelJobHasASyncAStep) {
  const PlanView view = PlanOf({.job_file = kDigits + "digits-parallel.yaml"});
  EXPECT_EQ(view.plan.rounds, 20);
  EXPECT_EQ(view.plan.syncs, 460);
  EXPECT_EQ(view.plan.percent_of_parallel, 100);
}

TEST(PlanTest, AJobInStepsNeedsNoData) {
  const std::string path = WriteJob(
      "steps.yaml", SmallJob("{kind: cosine, steps: 100, peak: 1, final: 0.01, warmup_steps: 10}",
                             "{policy: qsr, alpha: 1.5, base_steps: 4}"));
  const nlohmann::json json = PlanJson(PlanOf({.job_file = path}));
  EXPECT_EQ(json["checksum"], 1103);
  EXPECT_EQ(json["lengths_rle"],
            nlohmann::json::parse("[[4, 12], [5, 1], [7, 1], [12, 1], [28, 1]]"));
  EXPECT_TRUE(json["bytes_per_sync"].is_null());
}

TEST(PlanTest, ParametersCanBeGiven) {
  const std::string path = WriteJob(
      "given.yaml", SmallJob("{kind: constant, steps: 10, peak: 1}", "{policy: parallel}"));
  const nlohmann::json json =
      PlanJson(PlanOf({.job_file = path, .workers = 2, .parameters = 1'000'000}));
  EXPECT_EQ(json["bytes_per_sync"], 4'000'000);
}

TEST(PlanTest, AJobInEpochsNeedsItsData) {
  const std::string path = WriteJob(
      "epochs.yaml", SmallJob("{kind: constant, epochs: 10, peak: 1}", "{policy: parallel}"));
  std::string warnings;
  EXPECT_THAT(MakePlan({.job_file = path}, &warnings), StatusIs(StatusCode::kNotFound));
}

TEST(PlanTest, AWrongJobNamesAllItsErrors) {
  const std::string path =
      WriteJob("wrong.yaml", SmallJob("{kind: cosin, steps: 10, peak: -1}", "{policy: parallell}"));
  std::string warnings;
  const auto view = MakePlan({.job_file = path}, &warnings);
  ASSERT_THAT(view, StatusIs(StatusCode::kInvalidArgument));
  for (const char* part : {"wrong.yaml:6:", "schedule.kind", "schedule.peak", "sync.policy"}) {
    EXPECT_THAT(std::string(view.status().message()), testing::HasSubstr(part));
  }
}

TEST(PlanTest, TheTextFitsEightyColumns) {
  for (const bool ascii : {false, true}) {
    const std::string text = PlanText(
        PlanOf({.job_file = kDigits + "digits.yaml", .step_seconds = 0.748, .sync_seconds = 0.279}),
        ascii);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      size_t columns = 0;
      for (char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      EXPECT_LE(columns, 80u) << line;
    }
    EXPECT_NE(text.find("checksum"), std::string::npos);
  }
}

int RunVerb(std::vector<std::string> arguments) {
  CLI::App app("test");
  int exit_code = kExitDone;
  AddPlanVerb(app, &exit_code);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError&) {
    return kExitUsage;
  }
  return exit_code;
}

TEST(PlanVerbTest, EndsWithTheRightExitCode) {
  EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--json", "--workers", "4"}), kExitDone);
  EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--ascii"}), kExitDone);
  EXPECT_EQ(RunVerb({"plan", kDigits + "missing.yaml"}), kExitUsage);
  EXPECT_EQ(RunVerb({"plan", WriteJob("text.yaml", "hello")}), kExitUsage);
  EXPECT_EQ(RunVerb({"plan", "."}), kExitUsage);
  EXPECT_EQ(RunVerb({"plan"}), kExitUsage);
  EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--workers", "0"}), kExitUsage);
  EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--step-seconds", "-1"}), kExitUsage);
}

}  // namespace
}  // namespace rondo::cli
