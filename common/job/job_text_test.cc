#include "common/job/job_text.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/job/job_file.h"
#include "common/job/test_jobs.h"

namespace rondo {
namespace {

v1::Job Parsed(const std::string& text) {
  const ParsedJob parsed = ParseJob(text);
  EXPECT_TRUE(parsed.errors.empty()) << text << FormatDiagnostics("job", parsed.errors);
  return parsed.job;
}

const char* const kChanges[][2] = {
    {"seed: 1", "seed: 18446744073709551615"},
    {"builtin: mlp, layers: [64, 128, 64, 10]", "builtin: convnet, init: 'a''b: {c}.safetensors'"},
    {"builtin: mlp, layers: [64, 128, 64, 10]", "torchscript: m.pt"},
    {"global: 64, micro: 0}", "global: 60, micro: 7}"},
    {"kind: sgd, momentum: 0.9, nesterov: false", "kind: adamw, betas: [0.8, 0.99], eps: 1e-6"},
    {"[bias]", "[\"a b\", 'c''d']"},
    {"peak: 0.1", "peak: 0.30000000000000004"},
    {"kind: cosine, epochs: 20", "kind: step, steps: 300, gamma: 0.5, at_steps: [5, 9]"},
    {"kind: cosine", "kind: step, gamma: 0.5, at_epochs: [5, 9]"},
    {"kind: cosine", "kind: cosine_step, rounding_base: 3"},
    {"kind: cosine", "kind: wsd, decay_steps: 5, decay: cosine"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[0, 3], [10, 4]]"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: parallel, round_steps: 7"},
    {"policy: qsr, alpha: 0.02", "policy: constant"},
    {"policy: qsr, alpha: 0.02", "policy: power, power: 2.5, alpha: 1"},
    {"policy: qsr, alpha: 0.02", "policy: post_local, switch_step: 9"},
    {"policy: qsr, alpha: 0.02", "policy: swap, switch_step: 9"},
    {"kind: ring", "kind: sparse, density: 0.015, select: threshold"},
    {"kind: ring", "kind: sparse, density: 0.01, warmup_steps: 90, warmup_density: 0.25"},
    {"kind: ring", "kind: auto, density: 0.01"},
    {"kind: ring", "kind: topk_gather, density: 0.01"},
    {"optimizer: local", "optimizer: reset"},
    {"every_epochs: 1", "every_steps: 10"},
    {"seed: 1", "limits: {stall_seconds: 7.25, attempts: 9, coordinator_away_seconds: 0}"},
    {"seed: 1",
     "limits: {report_seconds: 2, evaluate_seconds: 7, save_seconds: 8, not_finite_rounds: 4}"},
};

TEST(FormatJobTest, ParsesToTheSameJob) {
  for (const auto& [from, to] : kChanges) {
    const v1::Job job = Parsed(JobWith(from, to));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(Parsed(FormatJob(job)), job))
        << FormatJob(job);
    EXPECT_EQ(FormatJob(Parsed(FormatJob(job))), FormatJob(job));
  }
}

TEST(DifferingKeysTest, NamesWhatAChangeChanged) {
  const v1::Job job = Parsed(std::string(kWholeJob));
  for (const auto& [from, to] : kChanges) {
    EXPECT_FALSE(DifferingKeys(job, Parsed(JobWith(from, to))).empty()) << to;
  }
  EXPECT_EQ(DifferingKeys(job, Parsed(JobWith("peak: 0.1", "peak: 0.2"))),
            std::vector<std::string>{"schedule.peak"});
  EXPECT_EQ(DifferingKeys(job, Parsed(JobWith("epochs: 20", "steps: 20"))),
            (std::vector<std::string>{"schedule.epochs", "schedule.steps"}));
}

TEST(DifferingKeysTest, IgnoresWritingIdAndResolvedValues) {
  const v1::Job job = Parsed(std::string(kWholeJob));
  v1::Job frozen = Parsed(JobWith("peak: 0.1", "peak: 1.0e-1"));
  frozen.set_id("digits-qsr-0000000000000001");
  frozen.mutable_resolved()->set_steps(460);
  EXPECT_TRUE(DifferingKeys(job, frozen).empty());
}

}  // namespace
}  // namespace rondo
