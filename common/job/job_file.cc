#include "common/job/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/job/not_built.h"
#include "common/job/section.h"
#include "common/job/sections.h"
#include "common/job/yaml_tree.h"

namespace rondo {
namespace {

constexpr IntRange kCount = {.min = 1, .max = kJobSamplesMax};
constexpr size_t kLayersMax = 64;

void ReadName(Section& root, v1::Job* job) {
  root.Require("name", "name: my-job");
  const std::optional<std::string> name = root.Text("name");
  if (name && !IsValidJobName(*name)) {
    root.Fail("name",
              "must be 1 to 63 characters out of a-z, 0-9 and -, with no dash at either end");
  }
  if (name) job->set_name(*name);
  job->set_seed(root.Unsigned64("seed").value_or(0));
}

void ReadLossAndPrecision(Section& root, v1::Job* job) {
  job->set_loss(root.Word<v1::Loss>(
                        "loss", {{"cross_entropy", v1::LOSS_CROSS_ENTROPY}, {"mse", v1::LOSS_MSE}})
                    .value_or(v1::LOSS_CROSS_ENTROPY));
  if (job->loss() == v1::LOSS_MSE && job->data().format() == v1::DATA_FORMAT_IDX) {
    root.Fail("loss", "mse needs targets of the predictions' shape: use data.format npy");
  }
  job->set_precision(root.Word<v1::Precision>("precision", {{"float32", v1::PRECISION_FLOAT32},
                                                            {"bf16", v1::PRECISION_BF16}})
                         .value_or(v1::PRECISION_FLOAT32));
}

// `epochs` and the like: a fixed number of samples a step is what makes them a number of steps.
// --workers fixes it.
void SettleEpochs(std::optional<int64_t> given, v1::Job* job, ReadLog* log) {
  const bool fixed = job->batch().size_case() != v1::Batch::kPerWorker ||
                     job->workers().min() == job->workers().max();
  if (fixed) return;
  constexpr std::string_view kWhy =
      "counting in epochs needs a fixed number of samples a step: give batch.global, or "
      "workers.min = workers.max, or count in steps";
  for (const char* key : {"schedule.epochs", "schedule.at_epochs", "evaluate.every_epochs"}) {
    const auto found = log->positions.find(key);
    if (found == log->positions.end()) continue;
    if (given) {
      job->mutable_workers()->set_min(*given);
      job->mutable_workers()->set_max(*given);
      return;
    }
    log->errors.push_back({found->second, key, std::string(kWhy)});
  }
}

void RefuseWhatIsNotBuilt(const v1::Job& job, ReadLog* log) {
  for (const NotBuilt& row : NotBuiltYet()) {
    if (!row.wanted(job)) continue;
    const auto found = log->positions.find(row.key);
    const Position position = found == log->positions.end() ? Position{} : found->second;
    log->errors.push_back(
        {position, row.key, fmt::format("{} is not built yet: {}", row.what, row.instead)});
  }
}

// Reads the whole file. `tree` may be an empty document.
v1::Job ReadJob(const YamlNode* tree, std::optional<int64_t> workers, ReadLog* log) {
  v1::Job job;
  Section root(tree, "", log);
  ReadName(root, &job);
  ReadModel(root, log, job.mutable_model());
  ReadData(root, log, job.mutable_data());
  ReadLossAndPrecision(root, &job);
  ReadBatch(root, log, job.mutable_batch());
  ReadOptimizer(root, log, job.mutable_optimizer());
  ReadSchedule(root, log, job.mutable_schedule());
  ReadSync(root, log, job.mutable_sync());
  ReadCollective(root, log, job.mutable_collective());
  ReadState(root, log, &job);
  ReadWorkers(root, log, workers, &job);
  ReadCheckpoint(root, log, job.mutable_checkpoint());
  ReadEvaluate(root, log, &job);
  ReadLimits(root, log, job.mutable_limits());
  root.Finish();
  SettleEpochs(workers, &job, log);
  RefuseWhatIsNotBuilt(job, log);
  return job;
}

void ReadFiles(Section& data, ReadLog* log, const char* key, v1::DataFormat format,
               v1::DataFiles* files) {
  Section section(data.Map(key), fmt::format("data.{}", key), log);
  const bool idx = format != v1::DATA_FORMAT_NPY;
  const char* inputs = idx ? "images" : "inputs";
  const char* targets = idx ? "labels" : "targets";
  const std::pair<const char*, std::string*> names[] = {{"images", files->mutable_inputs()},
                                                        {"labels", files->mutable_targets()},
                                                        {"inputs", files->mutable_inputs()},
                                                        {"targets", files->mutable_targets()}};
  for (const auto& [name, field] : names) {
    const std::optional<std::string> path = section.Path(name);
    const bool used = std::string_view(name) == inputs || std::string_view(name) == targets;
    if (path && used) *field = *path;
    if (path && !used) {
      section.Fail(name, fmt::format("is not used by format {}, whose files are {} and {}",
                                     idx ? "idx" : "npy", inputs, targets));
    }
  }
  section.Require(inputs, fmt::format("{}: FILE", inputs));
  section.Require(targets, fmt::format("{}: FILE", targets));
  section.Finish();
}

}  // namespace

void ReadModel(Section& root, ReadLog* log, v1::Model* model) {
  root.Require("model", "model: {builtin: mlp, layers: [...]} or {torchscript: FILE}");
  Section section(root.Map("model"), "model", log);
  enum class Builtin { kMlp, kConvnet };
  const auto builtin =
      section.Word<Builtin>("builtin", {{"mlp", Builtin::kMlp}, {"convnet", Builtin::kConvnet}});
  const auto layers = section.Ints("layers", {.min = 1, .max = 100'000'000});
  const auto script = section.Path("torchscript");
  if (section.Has("builtin") && section.Has("torchscript")) {
    section.Fail("torchscript", "a model is either builtin or torchscript: keep one of the two");
  } else if (!section.Has("builtin")) {
    section.Require("torchscript", "builtin: mlp, builtin: convnet or torchscript: FILE");
  }
  if (builtin == Builtin::kMlp) {
    section.Require("layers", "layers: [inputs, hidden..., outputs]");
    if (layers && (layers->size() < 2 || layers->size() > kLayersMax)) {
      section.Fail("layers", fmt::format("must have 2 to {} widths, inputs and outputs included",
                                         kLayersMax));
    }
    if (layers) model->mutable_mlp()->mutable_layers()->Assign(layers->begin(), layers->end());
  } else if (section.Has("layers") && (builtin || script)) {
    section.Fail("layers", "is used by builtin: mlp only: remove it");
  }
  if (builtin == Builtin::kConvnet) model->mutable_convnet();
  if (script && !builtin) model->mutable_torchscript()->set_path(*script);
  model->set_init(section.Path("init").value_or(""));
  section.Finish();
}

void ReadData(Section& root, ReadLog* log, v1::Data* data) {
  root.Require("data", "data: {format: idx, train: {images: FILE, labels: FILE}}");
  Section section(root.Map("data"), "data", log);
  section.Require("format", "format: idx or format: npy");
  data->set_format(section
                       .Word<v1::DataFormat>(
                           "format", {{"idx", v1::DATA_FORMAT_IDX}, {"npy", v1::DATA_FORMAT_NPY}})
                       .value_or(v1::DATA_FORMAT_UNSPECIFIED));
  section.Require("train", "train: {images: FILE, labels: FILE} (npy: inputs and targets)");
  ReadFiles(section, log, "train", data->format(), data->mutable_train());
  v1::DataFiles test;
  ReadFiles(section, log, "test", data->format(), &test);
  if (section.Has("test")) *data->mutable_test() = test;
  const double divisor = data->format() == v1::DATA_FORMAT_NPY ? 1 : 255;
  data->set_divisor(section.Real("divisor", {.min = 0, .above_min = true}).value_or(divisor));
  data->set_shuffle(section.Bool("shuffle").value_or(true));
  section.Finish();
}

void ReadBatch(Section& root, ReadLog* log, v1::Batch* batch) {
  root.Require("batch", "batch: {global: N} or {per_worker: N}");
  Section section(root.Map("batch"), "batch", log);
  const auto global = section.Int("global", kCount);
  const auto per_worker = section.Int("per_worker", kCount);
  if (section.Has("global") && section.Has("per_worker")) {
    section.Fail("per_worker", "a batch is given by global or per_worker: keep one of the two");
  } else if (!section.Has("per_worker")) {
    section.Require("global", "global: N or per_worker: N");
  }
  if (global) {
    batch->set_global(*global);
  } else if (per_worker) {
    batch->set_per_worker(*per_worker);
  }
  batch->set_micro(section.Int("micro", {.min = 0, .max = kJobSamplesMax}).value_or(0));
  section.Finish();
}

ParsedJob ParseJob(std::string_view text, std::optional<int64_t> workers) {
  ParsedJob parsed;
  ReadLog log;
  const std::optional<YamlNode> tree = ReadYaml(text, &log.errors);
  if (tree && tree->kind == YamlNode::Kind::kNull) {
    log.errors.push_back({{}, "", "an empty file: common/job/README.md shows a job"});
  } else if (tree) {
    parsed.job = ReadJob(&*tree, workers, &log);
  }
  parsed.errors = std::move(log.errors);
  parsed.warnings = std::move(log.warnings);
  parsed.positions = std::move(log.positions);
  return parsed;
}

std::vector<std::string> KnownJobKeys() {
  ReadLog log;
  ReadJob(nullptr, std::nullopt, &log);
  return log.known_keys;
}

std::string MakeJobId(std::string_view name, uint64_t random_bits) {
  return fmt::format("{}-{:016x}", name, random_bits);
}

bool IsValidJobName(std::string_view name) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  return characters && !name.empty() && name.size() <= 63 && name.front() != '-' &&
         name.back() != '-';
}

}  // namespace rondo
