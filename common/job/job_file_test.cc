#include "common/job/job_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "common/job/test_jobs.h"

namespace rondo {
namespace {

TEST(ParseJobTest, ReadsEveryKeyOfTheExample) {
  const ParsedJob parsed = ParseJob(kWholeJob);
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  EXPECT_TRUE(parsed.warnings.empty()) << FormatDiagnostics("job", parsed.warnings);
  const v1::Job& job = parsed.job;
  EXPECT_EQ(job.name(), "digits-qsr");
  EXPECT_EQ(job.seed(), 1u);
  EXPECT_EQ(job.model().mlp().layers_size(), 4);
  EXPECT_EQ(job.model().mlp().layers(1), 128);
  EXPECT_EQ(job.loss(), v1::LOSS_CROSS_ENTROPY);
  EXPECT_EQ(job.data().format(), v1::DATA_FORMAT_IDX);
  EXPECT_EQ(job.data().train().inputs(), "train-images-idx3-ubyte");
  EXPECT_EQ(job.data().test().targets(), "test-labels-idx1-ubyte");
  EXPECT_EQ(job.data().divisor(), 16);
  EXPECT_TRUE(job.data().shuffle());
  EXPECT_EQ(job.batch().global(), 64);
  EXPECT_EQ(job.optimizer().kind(), v1::OPTIMIZER_KIND_SGD);
  EXPECT_EQ(job.optimizer().momentum(), 0.9);
  EXPECT_EQ(job.optimizer().weight_decay(), 1e-4);
  EXPECT_EQ(job.optimizer().no_decay(0), "bias");
  EXPECT_EQ(job.schedule().kind(), v1::SCHEDULE_KIND_COSINE);
  EXPECT_EQ(job.schedule().epochs(), 20);
  EXPECT_EQ(job.schedule().peak(), 0.1);
  EXPECT_EQ(job.schedule().final(), 1e-6);
  EXPECT_EQ(job.schedule().warmup_steps(), 50);
  EXPECT_EQ(job.sync().policy(), v1::SYNC_POLICY_QSR);
  EXPECT_EQ(job.sync().alpha(), 0.02);
  EXPECT_EQ(job.sync().base_steps(), 2);
  EXPECT_EQ(job.collective().kind(), v1::COLLECTIVE_KIND_RING);
  EXPECT_EQ(job.state().optimizer(), v1::OPTIMIZER_STATE_POLICY_LOCAL);
  EXPECT_EQ(job.workers().min(), 2);
  EXPECT_EQ(job.workers().max(), 16);
  EXPECT_EQ(job.checkpoint().keep(), 3);
  EXPECT_EQ(job.evaluate().every_epochs(), 1);
}

TEST(ParseJobTest, ChecksTheWorkersOfTheCommandLineLikeItsOwn) {
  const ParsedJob parsed = ParseJob(kWholeJob, 70);  // They share 64 samples.
  ASSERT_EQ(parsed.errors.size(), 1u) << FormatDiagnostics("job", parsed.errors);
  EXPECT_EQ(parsed.errors[0].key, "workers.max");
  EXPECT_TRUE(ParseJob(kWholeJob, 64).errors.empty());
}

TEST(ParseJobTest, TheWorkersOfTheCommandLineFixWhatEpochsNeed) {
  std::string text(kWholeJob);
  text.replace(text.find("global: 64"), 10, "per_worker: 8");
  EXPECT_FALSE(ParseJob(text).errors.empty());
  const ParsedJob parsed = ParseJob(text, 2);
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  EXPECT_EQ(parsed.job.workers().min(), 2);
  EXPECT_EQ(parsed.job.workers().max(), 2);
}

TEST(ParseJobTest, FillsInTheDefaults) {
  const ParsedJob parsed = ParseJob(R"(
name: small
model: {builtin: convnet}
data: {format: idx, train: {images: i, labels: l}}
batch: {per_worker: 8}
optimizer: {kind: adamw}
schedule: {kind: constant, steps: 100, peak: 0.1}
sync: {policy: parallel}
)");
  ASSERT_TRUE(parsed.errors.empty()) << FormatDiagnostics("job", parsed.errors);
  const v1::Job& job = parsed.job;
  EXPECT_EQ(job.seed(), 0u);
  EXPECT_TRUE(job.model().has_convnet());
  EXPECT_EQ(job.loss(), v1::LOSS_CROSS_ENTROPY);
  EXPECT_EQ(job.data().divisor(), 255);
  EXPECT_TRUE(job.data().shuffle());
  EXPECT_FALSE(job.data().has_test());
  EXPECT_EQ(job.optimizer().beta1(), 0.9);
  EXPECT_EQ(job.optimizer().beta2(), 0.999);
  EXPECT_EQ(job.optimizer().eps(), 1e-8);
  EXPECT_EQ(job.optimizer().weight_decay(), 0);
  EXPECT_EQ(job.schedule().final(), 1e-6);
  EXPECT_EQ(job.sync().round_steps(), 50);
  EXPECT_EQ(job.collective().kind(), v1::COLLECTIVE_KIND_RING);
  EXPECT_EQ(job.state().buffers(), v1::BUFFER_POLICY_AVERAGE);
  EXPECT_EQ(job.workers().min(), 1);
  EXPECT_EQ(job.workers().max(), 16);
  EXPECT_EQ(job.workers().wait_seconds(), 30);
  EXPECT_EQ(job.checkpoint().keep(), 3);
  EXPECT_EQ(job.limits().heartbeat_seconds(), 1);
  EXPECT_EQ(job.limits().attempts(), 5);
  EXPECT_EQ(job.limits().coordinator_away_seconds(), 600);
  EXPECT_EQ(job.limits().report_seconds(), 1);
  EXPECT_EQ(job.limits().save_seconds(), 600);
  EXPECT_EQ(job.limits().not_finite_rounds(), 3);
  EXPECT_EQ(job.workers().cool_down_seconds(), 10);
  EXPECT_EQ(job.workers().cool_down_max_seconds(), 300);
  EXPECT_EQ(job.workers().losses_free(), 2);
  EXPECT_EQ(job.precision(), v1::PRECISION_FLOAT32);
}

struct Good {
  const char* name;
  const char* from;
  const char* to;
};

const Good kGood[] = {
    {"TheLargestSeed", "seed: 1", "seed: 18446744073709551615"},
    {"AWarmupLongerThanTheRun", "warmup_steps: 50", "warmup_steps: 100000000"},
    {"KeysThatSayWhatHoldsAnyway", "policy: qsr, alpha: 0.02",
     "policy: constant, alpha: 0.0, power: 2"},
    {"TheSquareOfQsr", "alpha: 0.02", "alpha: 0.02, power: 2"},
    {"AnEmptySection", "collective: {kind: ring}", "collective:"},
    {"SameWorkersAndPerWorker", "batch: {global: 64, micro: 0}\n", "batch: {global: 64}\n"},
    {"Table", "policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[0, 2], [9, 4]]"},
    {"Swap", "policy: qsr, alpha: 0.02", "policy: swap, switch_step: 100"},
    {"PostLocal", "policy: qsr, alpha: 0.02", "policy: post_local, switch_step: 0"},
    {"Wsd", "kind: cosine, epochs", "kind: wsd, decay_steps: 9, decay: cosine, epochs"},
    {"Step", "kind: cosine, epochs", "kind: step, gamma: 0.5, at_epochs: [1, 2], epochs"},
    {"AFinalRateOfZero", "final: 1e-6", "final: 0"},
    {"ATextInQuotes", "name: digits-qsr", "name: \"digits-qsr\""},
    {"APathWithDots", "images: train-images", "images: a..b/.c/train-images"},
    {"Comments", "seed: 1", "seed: 1  # words: {["},
    {"APlusSign", "divisor: 16", "divisor: +16"},
};

TEST(ParseJobTest, TakesWhatIsUnusualButRight) {
  for (const Good& good : kGood) {
    const ParsedJob parsed = ParseJob(JobWith(good.from, good.to));
    EXPECT_TRUE(parsed.errors.empty()) << good.name << "\n"
                                       << FormatDiagnostics("job", parsed.errors);
  }
}

struct Bad {
  const char* from;
  const char* to;
  int line;
  const char* key;
  const char* in_message;  // The value, the allowed ones or the hint.
  size_t errors = 1;       // In the whole file.
};

const Bad kBad[] = {
    // Unknown and mistyped keys.
    {"seed: 1", "sead: 1", 2, "sead", "'seed'"},
    {"warmup_steps", "warmup_step", 13, "schedule.warmup_step", "'warmup_steps'"},
    {"divisor", "Divisor", 9, "data.Divisor", "'divisor'"},
    {"images: test", "image: test", 8, "data.test.image", "'images'", 2},
    {"collective:", "colective:", 15, "colective", "'collective'"},
    {"keep: 3", "keep: 3, zzzzzzzz: 1", 18, "checkpoint.zzzzzzzz", "every_steps"},
    {"seed: 1", "seed: 1\n<<: {a: 1}", 3, "<<", "unknown key"},
    // Missing keys.
    {"name: digits-qsr\n", "", 1, "name", "missing"},
    {"optimizer: {", "x: {", 1, "optimizer", "missing", 2},
    {"kind: sgd, ", "", 12, "optimizer.kind", "sgd"},
    {"epochs: 20, ", "", 13, "schedule.steps", "epochs"},
    {"peak: 0.1, ", "", 13, "schedule.peak", "missing"},
    {"alpha: 0.02, ", "", 14, "sync.alpha", "missing"},
    {"base_steps: 2, ", "", 14, "sync.base_steps", "missing"},
    {"global: 64, ", "", 11, "batch.global", "missing"},
    {"  format: idx\n", "", 6, "data.format", "missing"},
    {", layers: [64, 128, 64, 10]", "", 3, "model.layers", "missing"},
    {"builtin: mlp, layers: [64, 128, 64, 10]", "init: a", 3, "model.torchscript", "builtin"},
    {", labels: test-labels-idx1-ubyte", "", 8, "data.test.labels", "missing"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table", 14, "sync.table", "missing"},
    {"policy: qsr, alpha: 0.02", "policy: swap", 14, "sync.switch_step", "missing"},
    {"kind: cosine", "kind: wsd", 13, "schedule.decay_steps", "missing"},
    {"kind: cosine", "kind: step", 13, "schedule.at_steps", "missing"},
    // Wrong types.
    {"seed: 1", "seed: one", 2, "seed", "'one'"},
    {"seed: 1", "seed: 1.5", 2, "seed", "whole number"},
    {"seed: 1", "seed: \"1\"", 2, "seed", "text"},
    {"seed: 1", "seed: [1]", 2, "seed", "list"},
    {"name: digits-qsr", "name: {a: b}", 1, "name", "map"},
    {"shuffle: true", "shuffle: yes", 10, "data.shuffle", "true or false"},
    {"divisor: 16", "divisor: sixteen", 9, "data.divisor", "'sixteen'"},
    {"no_decay: [bias]", "no_decay: bias", 12, "optimizer.no_decay", "list"},
    {"layers: [64, 128", "layers: [64, x", 3, "model.layers[1]", "'x'"},
    {"schedule: {kind: cosine, epochs: 20, peak: 0.1, final: 1e-6, warmup_steps: 50}",
     "schedule: cosine", 13, "schedule", "map"},
    {"collective: {kind: ring}", "collective: ring", 15, "collective", "map"},
    {"epochs: 20", "epochs: 1e2", 13, "schedule.epochs", "whole number"},
    {"epochs: 20", "epochs: 0x10", 13, "schedule.epochs", "whole number"},
    // Words.
    {"kind: sgd", "kind: sdg", 12, "optimizer.kind", "'sgd'"},
    {"kind: cosine", "kind: cosin", 13, "schedule.kind", "'cosine'"},
    {"policy: qsr", "policy: qrs", 14, "sync.policy", "'qsr'"},
    {"kind: ring", "kind: tree", 15, "collective.kind", "sparse"},
    {"loss: cross_entropy", "loss: crossentropy", 4, "loss", "'cross_entropy'"},
    {"optimizer: local", "optimizer: keep", 16, "state.optimizer", "average"},
    {"format: idx", "format: csv", 6, "data.format", "npy"},
    {"builtin: mlp", "builtin: resnet", 3, "model.builtin", "convnet"},
    // Impossible values.
    {"name: digits-qsr", "name: Digits", 1, "name", "a-z"},
    {"name: digits-qsr", "name: -digits", 1, "name", "dash"},
    {"name: digits-qsr", "name: d\xC3\xA9", 1, "name", "a-z"},
    {"name: digits-qsr", "name: a123456789012345678901234567890123456789012345678901234567890123",
     1, "name", "63"},
    {"seed: 1", "seed: 18446744073709551616", 2, "seed", "18446744073709551615"},
    {"seed: 1", "seed: -1", 2, "seed", "'-1'"},
    {"global: 64", "global: 0", 11, "batch.global", "from 1"},
    {"global: 64", "global: 99999999999999999999", 11, "batch.global", "from 1"},
    {"global: 64", "global: 8", 17, "workers.max", "16"},
    {"micro: 0", "micro: -1", 11, "batch.micro", "from 0"},
    {"divisor: 16", "divisor: 0", 9, "data.divisor", "greater than 0"},
    {"peak: 0.1", "peak: .nan", 13, "schedule.peak", "number"},
    {"peak: 0.1", "peak: nan", 13, "schedule.peak", "number"},
    {"peak: 0.1", "peak: .inf", 13, "schedule.peak", "number"},
    {"peak: 0.1", "peak: inf", 13, "schedule.peak", "number"},
    {"peak: 0.1", "peak: 1e999", 13, "schedule.peak", "number"},
    {"peak: 0.1", "peak: -0.1", 13, "schedule.peak", "greater than 0"},
    {"peak: 0.1", "peak: 0", 13, "schedule.peak", "greater than 0"},
    {"final: 1e-6", "final: -1e-6", 13, "schedule.final", "from 0"},
    {"alpha: 0.02", "alpha: 0", 14, "sync.alpha", "greater than 0"},
    {"alpha: 0.02", "alpha: -1", 14, "sync.alpha", "greater than 0"},
    {"alpha: 0.02", "alpha: nan", 14, "sync.alpha", "greater than 0"},
    {"base_steps: 2", "base_steps: 0", 14, "sync.base_steps", "from 1"},
    {"max_steps: 0", "max_steps: 1", 14, "sync.max_steps", "base_steps"},
    {"momentum: 0.9", "momentum: 1", 12, "optimizer.momentum", "less than 1"},
    {"momentum: 0.9, nesterov: false", "nesterov: true", 12, "optimizer.nesterov", "momentum"},
    {"weight_decay: 1e-4", "weight_decay: -1", 12, "optimizer.weight_decay", "from 0"},
    {"kind: sgd, momentum: 0.9, nesterov: false", "kind: adamw, betas: [0.9, 1]", 12,
     "optimizer.betas[1]", "less than 1"},
    {"kind: sgd, momentum: 0.9, nesterov: false", "kind: adamw, betas: [0.9]", 12,
     "optimizer.betas", "two numbers"},
    {"kind: sgd, momentum: 0.9, nesterov: false", "kind: adamw, eps: 0", 12, "optimizer.eps",
     "greater than 0"},
    {"layers: [64, 128, 64, 10]", "layers: [64]", 3, "model.layers", "2 to"},
    {"layers: [64, 128", "layers: [64, 0", 3, "model.layers[1]", "from 1"},
    {"epochs: 20", "epochs: 0", 13, "schedule.epochs", "from 1"},
    {"epochs: 20", "steps: 1000000001", 13, "schedule.steps", "1000000000"},
    {"min: 2", "min: 0", 17, "workers.min", "from 1"},
    {"min: 2, max: 16", "min: 3, max: 2", 17, "workers.max", "at least min"},
    {"wait_seconds: 30", "wait_seconds: -1", 17, "workers.wait_seconds", "from 0"},
    {"keep: 3", "keep: 0", 18, "checkpoint.keep", "from 1"},
    {"images: train-images-idx3-ubyte", "images: /etc/passwd", 7, "data.train.images", "absolute"},
    {"images: train-images-idx3-ubyte", "images: a/../../b", 7, "data.train.images", "'..'"},
    {"images: train-images-idx3-ubyte", "images: \"a\\nb\"", 7, "data.train.images", "one line"},
    {"wait_seconds: 30", "wait_seconds: 1e-12", 17, "workers.wait_seconds", "0 or at least 0.001"},
    {"seed: 1", "seed: 1\nlimits: {abort_seconds: 1e-12}", 3, "limits.abort_seconds", "from 0.001"},
    {"seed: 1", "seed: 1\nlimits: {silent_seconds: 0.5}", 3, "limits.silent_seconds", "heartbeat"},
    {"seed: 1", "seed: 1\nlimits: {lost_seconds: 2}", 3, "limits.lost_seconds", "silent"},
    // Keys that exclude each other or that the kind does not use.
    {"epochs: 20", "epochs: 20, steps: 5", 13, "schedule.steps", "one of the two"},
    {"global: 64", "global: 64, per_worker: 4", 11, "batch.per_worker", "one of the two"},
    {"builtin: mlp,", "builtin: mlp, torchscript: m.pt,", 3, "model.torchscript", "one of the two"},
    {"builtin: mlp", "builtin: convnet", 3, "model.layers", "mlp only"},
    {"policy: qsr, alpha: 0.02", "policy: constant, alpha: 0.02", 14, "sync.alpha", "not used"},
    {"policy: qsr", "policy: qsr, power: 3", 14, "sync.power", "not used"},
    {"policy: qsr", "policy: qsr, switch_step: 3", 14, "sync.switch_step", "not used"},
    {"policy: qsr", "policy: qsr, round_steps: 3", 14, "sync.round_steps", "not used"},
    {"policy: qsr", "policy: qsr, table: [[0, 1]]", 14, "sync.table", "not used"},
    {"kind: cosine", "kind: cosine, gamma: 0.5", 13, "schedule.gamma", "not used"},
    {"kind: cosine", "kind: cosine, decay_steps: 5", 13, "schedule.decay_steps", "not used"},
    {"kind: cosine", "kind: cosine, at_steps: [5]", 13, "schedule.at_steps", "not used"},
    {"kind: cosine", "kind: step, at_steps: [5], at_epochs: [1]", 13, "schedule.at_epochs",
     "one of the two"},
    {"kind: cosine", "kind: step, at_steps: [5, 5]", 13, "schedule.at_steps", "ascending"},
    {"kind: sgd", "kind: sgd, eps: 1", 12, "optimizer.eps", "not used"},
    {"kind: ring", "kind: ring, density: 0.5", 15, "collective.density", "not used"},
    {"kind: ring", "kind: ring, select: exact", 15, "collective.select", "not used"},
    {"kind: ring", "kind: ring, warmup_steps: 5", 15, "collective.warmup_steps", "not used"},
    {"kind: ring", "kind: sparse", 15, "collective.density", "missing"},
    {"kind: ring", "kind: sparse, density: 0", 15, "collective.density", "greater than 0"},
    {"kind: ring", "kind: sparse, density: 1.5", 15, "collective.density", "1"},
    {"kind: ring", "kind: sparse, density: 0.1, selct: exact", 15, "collective.selct", "'select'"},
    {"kind: ring", "kind: sparse, density: 0.1, select: best", 15, "collective.select", "exact"},
    {"kind: ring", "kind: topk_gather, density: 0.1, select: exact", 15, "collective.select",
     "not used"},
    {"kind: ring", "kind: sparse, density: 0.1, warmup_steps: 5", 15, "collective.warmup_density",
     "missing"},
    {"kind: ring", "kind: sparse, density: 0.1, warmup_density: 0.5", 15,
     "collective.warmup_density", "warmup_steps"},
    {"kind: ring", "kind: sparse, density: 0.1, warmup_steps: 5, warmup_density: 0.05", 15,
     "collective.warmup_density", "at least density"},
    {"kind: ring", "kind: auto, density: 0.1, warmup_steps: 5", 15, "collective.warmup_steps",
     "not used"},
    {"every_epochs: 1", "every_epochs: 1, every_steps: 5", 19, "evaluate.every_steps",
     "one of the two"},
    {"images: train-images-idx3-ubyte", "images: a, inputs: b", 7, "data.train.inputs", "not used"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[1, 2]]", 14, "sync.table",
     "step 0"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[0, 2], [0, 3]]", 14,
     "sync.table", "larger"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[0, 0]]", 14,
     "sync.table[0][1]", "from 1"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: [[0, 1, 2]]", 14,
     "sync.table[0]", "pair"},
    {"policy: qsr, alpha: 0.02, base_steps: 2", "policy: table, table: []", 14, "sync.table",
     "at least one"},
    {"loss: cross_entropy", "loss: mse", 4, "loss", "npy"},
    {"global: 64", "per_worker: 4", 13, "schedule.epochs", "batch.global", 2},
    {"  test: {images: test-images-idx3-ubyte, labels: test-labels-idx1-ubyte}\n", "", 18,
     "evaluate.every_epochs", "data.test"},
    // Known, but not built yet.
    {"seed: 1", "seed: 1\nprecision: bf16", 3, "precision", "not built"},
    {"keep: 3", "keep: 3, partials: true", 18, "checkpoint.partials", "every_steps"},
    // What YAML allows and a job file does not.
    {"seed: 1", "seed: 1\nseed: 2", 3, "seed", "line 2"},
    {"peak: 0.1", "peak: 0.1, peak: 0.2", 13, "schedule.peak", "given twice"},
    {"seed: 1", "seed: &a 1", 2, "", "anchors"},
    {"seed: 1", "seed: !!int 1", 2, "", "tag"},
    {"seed: 1", "seed: 1\n---\nname: b", 4, "", "second", 7},
    {"seed: 1", "seed: 1\n? [a]\n: 1", 3, "", "word", 2},
    {"seed: 1", "seed: {", 4, "", "not YAML"},
    {"seed: 1", "seed: \xFF", 2, "", "UTF-8"},
    {"seed: 1", "seed: \x01", 2, "", "control"},
};

TEST(ParseJobTest, RefusesEachMistakeWithItsLineAndKey) {
  for (const Bad& bad : kBad) {
    const ParsedJob parsed = ParseJob(JobWith(bad.from, bad.to));
    const bool found =
        std::any_of(parsed.errors.begin(), parsed.errors.end(), [&](const Diagnostic& d) {
          return d.position.line == bad.line && d.key == bad.key &&
                 d.message.find(bad.in_message) != std::string::npos;
        });
    EXPECT_TRUE(found) << bad.to << " wanted " << bad.line << " " << bad.key << " "
                       << bad.in_message << "\ngot:\n"
                       << FormatDiagnostics("job", parsed.errors);
    EXPECT_EQ(parsed.errors.size(), bad.errors) << FormatDiagnostics("job", parsed.errors);
  }
}

TEST(ParseJobTest, RefusesDropsThatGrowWithoutEnd) {
  std::string drops = "1";
  for (int i = 2; i < 60; ++i) drops += ", " + std::to_string(i);
  const ParsedJob parsed =
      ParseJob(JobWith("kind: cosine", "kind: step, gamma: 1e6, at_steps: [" + drops + "]"));
  ASSERT_EQ(parsed.errors.size(), 1u);
  EXPECT_EQ(parsed.errors[0].key, "schedule.gamma");
}

TEST(ParseJobTest, ReportsAllErrorsOfAFileAtOnce) {
  std::string text = JobWith("seed: 1", "sead: 1");
  text.replace(text.find("momentum: 0.9"), 13, "momentum: 9.0");
  text.replace(text.find("policy: qsr"), 11, "policy: qrs");
  text.replace(text.find("keep: 3"), 7, "keep: 0");
  const ParsedJob parsed = ParseJob(text);
  std::vector<std::string> keys;
  for (const Diagnostic& d : parsed.errors) keys.push_back(d.key);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::string>{"checkpoint.keep", "optimizer.momentum", "sead",
                                            "sync.policy"}));
}

TEST(ParseJobTest, AnEmptyFileLacksAJob) {
  for (const char* text : {"", "\n\n", "# nothing\n", "---\n", "null"}) {
    EXPECT_EQ(ParseJob(text).errors.size(), 1u) << text;
  }
}

TEST(ParseJobTest, AFileThatIsNoMapIsOneError) {
  for (const char* text : {"hello", "[1, 2]", "- a"}) {
    const ParsedJob parsed = ParseJob(text);
    EXPECT_EQ(parsed.errors.size(), 1u) << FormatDiagnostics(text, parsed.errors);
  }
}

TEST(ParseJobTest, WarnsThatASingleCheckpointIsAllThereIs) {
  const ParsedJob parsed =
      ParseJob(JobWith("every_steps: 0, keep: 3", "every_steps: 500, keep: 1"));
  EXPECT_TRUE(parsed.errors.empty());
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0].key, "checkpoint.keep");
  EXPECT_EQ(parsed.warnings[0].position.line, 18);
  EXPECT_EQ(parsed.job.checkpoint().every_steps(), 500);
}

TEST(FormatDiagnosticsTest, SortsByPlaceAndLimitsTheirNumber) {
  EXPECT_EQ(FormatDiagnostics("f", {{{2, 5}, "b", "two"}, {{}, "", "whole"}, {{2, 1}, "a", "one"}}),
            "f: whole\nf:2:1: a: one\nf:2:5: b: two\n");
  const std::string many = FormatDiagnostics("f", std::vector<Diagnostic>(150));
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 101);
  EXPECT_NE(many.find("and 50 more"), std::string::npos);
}

TEST(JobIdTest, IsTheNameAndSixteenDigits) {
  EXPECT_EQ(MakeJobId("digits", 0xAB), "digits-00000000000000ab");
}

}  // namespace
}  // namespace rondo
