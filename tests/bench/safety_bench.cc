// What the safety of a local round costs, beside the round: a staging buffer that is applied only
// at the commit, the state hash, the check for values that are not finite, the journal's
// transaction. One JSON line for each H, from a real run with real workers; milliseconds a round,
// medians:
//
//   round_ms, steps_ms, reduce_ms, control_ms   of the run's rounds (steps and reduce: the slowest
//                                               member's; control: what is left)
//   staging_ms   copying the parameters into staging and back, measured here on vectors of that
//   size hash_ms      the state hash, as far as it adds to the scan that scales the sum finite_ms
//   looking for values that are not finite, in the moments journal_ms   one transaction with a
//   commit and the next order, fsync included, in --state safety_percent   (staging + hash + finite
//   + journal) / round
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/accumulate.h"
#include "kernels/flat_floats.h"
#include "kernels/norm.h"
#include "kernels/span.h"
#include "kernels/state_hash.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_sqlite.h"
#include "tests/bench/as_test.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Flags {
  std::string state_dir;
  int workers = 4;
  int rounds = 200;
  std::vector<int> lengths = {1, 4, 64};
  std::string layers = "[64, 512, 256, 10]";
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double MedianMillis(int times, const std::function<void()>& work) {
  std::vector<double> millis;
  for (int i = 0; i < times; ++i) {
    const absl::Time began = absl::Now();
    work();
    millis.push_back(absl::ToDoubleMilliseconds(absl::Now() - began));
  }
  return Median(millis);
}

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "safety_bench: {}\n", text);
  std::exit(1);
}

void DieUnless(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

// The rounds of a run and the model's size.
struct RunOf {
  std::vector<json> rounds;
  size_t parameters = 0;
};

RunOf RunJob(const Flags& flags, int length) {
  e2e::DigitsJob job;
  job.model = fmt::format("{{builtin: mlp, layers: {}}}", flags.layers);
  job.schedule = fmt::format("{{kind: constant, steps: {}, peak: 0.001}}", flags.rounds * length);
  job.sync = fmt::format("{{policy: constant, base_steps: {}}}", length);
  const std::string folder = e2e::MakeJobFolder(job);
  const std::string state = flags.state_dir + fmt::format("/run-{}", length);
  std::filesystem::remove_all(state);
  const e2e::Ended run =
      e2e::RunToEnd(e2e::RondoRun(folder + "/job.yaml", flags.workers, state), "", absl::Hours(1));
  if (run.exit_code != 0) Die(run.err);
  RunOf result;
  result.rounds =
      e2e::JsonLines(e2e::RunToEnd(e2e::Rondo({"rounds", "--state", state, "--json"})).out);
  const json status =
      e2e::JsonLines(e2e::RunToEnd(e2e::Rondo({"status", "--state", state, "--json"})).out)[0];
  result.parameters = status["parameters"];
  return result;
}

double MillisOf(const std::vector<json>& rounds, const char* key) {
  std::vector<double> millis;
  for (const json& round : rounds) millis.push_back(round[key].get<double>() * 1e3);
  return Median(millis);
}

// Of one member: what stands in a round for safety alone.
struct MemberCost {
  double staging_ms = 0;
  double hash_ms = 0;
  double finite_ms = 0;
};

MemberCost MeasureMember(size_t parameters) {
  constexpr int kTimes = 101;
  FlatFloats working(parameters, 0.5f);
  FlatFloats staging(parameters, 0.25f);
  const DeviceSpan<float> staged(staging.data(), static_cast<int64_t>(parameters));
  const DeviceSpan<const float> moments(working.data(), static_cast<int64_t>(parameters));
  MemberCost cost;
  cost.staging_ms = MedianMillis(kTimes, [&] {
    std::memcpy(staging.data(), working.data(), parameters * sizeof(float));
    std::memcpy(working.data(), staging.data(), parameters * sizeof(float));
  });
  // In the blocks in which a reduce does it (MemberState::ScaleStaged).
  constexpr int64_t kBlock = 1 << 15;
  const auto scan = [&](bool hash) {
    for (int64_t first = 0; first < staged.size; first += kBlock) {
      const DeviceSpan<float> part = staged.Sub(first, std::min(kBlock, staged.size - first));
      DieUnless(Scale(part, 1.0f));
      if (hash) DieUnless(StateHash(part, static_cast<uint64_t>(first)).status());
    }
  };
  cost.hash_ms =
      MedianMillis(kTimes, [&] { scan(true); }) - MedianMillis(kTimes, [&] { scan(false); });
  cost.finite_ms = MedianMillis(kTimes, [&] { DieUnless(IsFinite(moments).status()); });
  return cost;
}

double MeasureJournal(const Flags& flags) {
  const std::string path = flags.state_dir + "/journal.db";
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  v1::Job job;
  job.set_id("safety-1");
  DieUnless(server::SqliteJournal::Create(path, job, absl::Now()));
  const auto journal = server::SqliteJournal::Open(path);
  DieUnless(journal.status());
  server::CommitRecord commit;
  server::OrderRecord order;
  for (int i = 0; i < flags.workers; ++i) {
    commit.members.push_back(fmt::format("worker-{}", i));
    order.runs.push_back({{.epoch = 1, .count = 8, .stride = 4, .steps = 16, .advance = 32}});
    order.batches.push_back(8);
  }
  commit.contributors = commit.members;
  commit.at = order.at = absl::Now();
  return MedianMillis(200, [&] {
    commit.round = order.round;
    order.round = order.round.Next();
    DieUnless((*journal)->Write({commit, order}));
  });
}

int Run(const Flags& flags) {
  std::filesystem::create_directories(flags.state_dir);
  const double journal_ms = MeasureJournal(flags);
  for (const int length : flags.lengths) {
    const RunOf run = RunJob(flags, length);
    const MemberCost cost = MeasureMember(run.parameters);
    const double round_ms = MillisOf(run.rounds, "seconds");
    const double safety_ms = cost.staging_ms + cost.hash_ms + cost.finite_ms + journal_ms;
    const ordered_json line = {{"bench", "safety"},
                               {"workers", flags.workers},
                               {"parameters", run.parameters},
                               {"round_steps", length},
                               {"round_ms", round_ms},
                               {"steps_ms", MillisOf(run.rounds, "step_seconds")},
                               {"reduce_ms", MillisOf(run.rounds, "reduce_seconds")},
                               {"control_ms", MillisOf(run.rounds, "control_seconds")},
                               {"staging_ms", cost.staging_ms},
                               {"hash_ms", cost.hash_ms},
                               {"finite_ms", cost.finite_ms},
                               {"journal_ms", journal_ms},
                               {"safety_percent", 100 * safety_ms / round_ms}};
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  rondo::Flags flags;
  CLI::App app("The share of staging, hash and journal in a local round.", "safety_bench");
  app.add_option("--state", flags.state_dir, "folder for runs and journal; replaced")->required();
  app.add_option("--workers", flags.workers)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--rounds", flags.rounds, "of each run")->capture_default_str();
  app.add_option("--lengths", flags.lengths, "H of each run")->capture_default_str();
  app.add_option("--layers", flags.layers, "of the MLP, from 64 to 10")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const rondo::AsTest as_test;
  return rondo::Run(flags);
}
