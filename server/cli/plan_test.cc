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
#include "server/core/control_bytes.h"

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
  EXPECT_EQ(names, (std::vector<std::string>{
                       "steps", "rounds", "syncs", "percent_of_parallel", "longest_round",
                       "checksum", "lengths_rle", "bytes_per_sync", "bytes_per_sync_dense",
                       "bytes_per_sync_entries", "bytes_per_sync_most", "bytes_total", "collective",
                       "density", "entries", "partials", "partial_bytes", "predicted_seconds"}));
  EXPECT_EQ(json["predicted_seconds"].get<double>(), 460 * 0.5 + json["syncs"].get<double>() * 2.0);
}

constexpr char kTenRounds[] = "{kind: constant, steps: 100, peak: 1}";

std::string SparseJob(const std::string& name, const std::string& collective) {
  return WriteJob(name, SmallJob(kTenRounds, "{policy: constant, base_steps: 10}") +
                            "collective: " + collective + "\n");
}

TEST(PlanTest, ASparseJobSendsFourSharesOfItsEntriesAndTheIntegersThatSteerIt) {
  const std::string job = SparseJob("sparse.yaml", "{kind: sparse, density: 0.01}");
  const PlanView view = PlanOf({.job_file = job, .workers = 4, .parameters = 100'000});
  const nlohmann::json json = PlanJson(view);
  const int64_t integers = SparseControlBytesPerSync(4, 100'000);
  EXPECT_EQ(json["entries"], 1000);
  EXPECT_EQ(json["bytes_per_sync"], 4 * 3 * 1000 + integers);
  EXPECT_EQ(json["bytes_per_sync_entries"], 4 * 3 * 1000);
  EXPECT_EQ(json["bytes_per_sync_most"], 6 * 4 * 1000 + SparseControlBytesMost(4, 100'000));
  EXPECT_EQ(json["bytes_per_sync_dense"], 2 * 3 * 100'000);
  EXPECT_EQ(json["bytes_total"], 10 * (4 * 3 * 1000 + integers));
  EXPECT_EQ(json["collective"], "sparse");
  EXPECT_NE(PlanText(view, true).find("12.0 kB of them entries"), std::string::npos)
      << PlanText(view, true);
}

TEST(PlanTest, TheDensitysWarmUpIsInTheTotalAndInTheMost) {
  const std::string job = SparseJob(
      "warm.yaml", "{kind: sparse, density: 0.01, warmup_steps: 20, warmup_density: 0.04}");
  const PlanView view = PlanOf({.job_file = job, .workers = 2, .parameters = 100'000});
  const nlohmann::json json = PlanJson(view);
  // 4,000 entries in the first round, 2,000 in the second, 1,000 in eight.
  EXPECT_EQ(json["bytes_total"],
            8 * (4000 + 2000 + 8 * 1000) + 10 * SparseControlBytesPerSync(2, 100'000));
  EXPECT_EQ(json["bytes_per_sync_most"], 6 * 4 * 4000 + SparseControlBytesMost(2, 100'000));
}

TEST(PlanTest, NeverSaysThatSparsePaysWithANumberOfWorkersWhereTheTableSaysOtherwise) {
  PlanOptions options = {.job_file = kDigits + "digits.yaml", .density = 0.01};
  for (int64_t workers = 2; workers <= 64; ++workers) {
    options.workers = workers;
    const nlohmann::json json = PlanJson(PlanOf(options));
    for (const nlohmann::json& link : json["links"]) {
      if (link["sparse_seconds"] >= link["dense_seconds"]) continue;
      ASSERT_FALSE(link["pays_from_workers"].is_null());
      EXPECT_LE(link["pays_from_workers"], workers);
      EXPECT_GE(link["pays_to_workers"].is_null() ? workers : link["pays_to_workers"].get<int>(),
                workers);
    }
  }
  options.workers = 1;
  EXPECT_NE(PlanText(PlanOf(options), true).find("a sync by 1 worker:"), std::string::npos);
}

TEST(PlanTest, SaysFromWhichSizeAndUpToWhichSpeedSparsePays) {
  const std::string job = SparseJob("pays.yaml", "{kind: auto, density: 0.01}");
  PlanOptions options = {.job_file = job, .workers = 8, .parameters = 25'000'000};
  options.link_mbits = {100, 1'000'000};
  const PlanView view = PlanOf(options);
  const nlohmann::json json = PlanJson(view);
  EXPECT_EQ(json["bytes_per_sync"], json["bytes_per_sync_dense"]);  // The ring comes first.
  ASSERT_EQ(json["links"].size(), 2u);
  EXPECT_EQ(json["links"][0]["mbits"], 100);
  EXPECT_EQ(json["links"][0]["pays_from_workers"], 2);
  EXPECT_LT(json["links"][0]["sparse_seconds"], json["links"][0]["dense_seconds"]);
  EXPECT_TRUE(json["links"][0]["pays_to_workers"].is_null());
  EXPECT_TRUE(json["links"][1]["pays_from_workers"].is_null());
  EXPECT_GT(json["pays_up_to_mbits"], 1000);
  const std::string text = PlanText(view, true);
  for (const char* part : {"100 Mbit/s", "from 2 workers on", "never", "with 8 workers: up to"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(PlanTest, ADenseJobIsComparedAtTheDensityThatIsAskedFor) {
  PlanOptions options = {.job_file = kDigits + "digits.yaml"};
  EXPECT_EQ(PlanText(PlanOf(options), true).find("sparse"), std::string::npos);
  EXPECT_FALSE(PlanJson(PlanOf(options)).contains("links"));
  options.density = 0.01;
  EXPECT_NE(PlanText(PlanOf(options), true).find("sparse pays"), std::string::npos);
  EXPECT_EQ(PlanJson(PlanOf(options))["collective"], "ring");
}

TEST(PlanTest, EveryExampleJobCanBePlanned) {
  for (const char* name : {"digits", "digits-parallel", "digits-constant", "digits-convnet"}) {
    EXPECT_EQ(PlanOf({.job_file = kDigits + name + ".yaml"}).plan.steps, 460) << name;
  }
  const PlanView sparse = PlanOf({.job_file = kDigits + "digits-sparse.yaml", .workers = 4});
  EXPECT_EQ(sparse.plan.syncs, 920);
  EXPECT_EQ(PlanJson(sparse)["entries"], 172);
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
  for (const char* density : {"0", "-1", "2", "nan", "1%", ""}) {
    EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--density", density}), kExitUsage)
        << density;
  }
  EXPECT_EQ(RunVerb({"plan", kDigits + "digits.yaml", "--ascii", "--density", "1e-13"}), kExitDone);
}

}  // namespace
}  // namespace rondo::cli
