#include "worker/edge/job_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/sha256.h"
#include "common/status_macros.h"
#include "worker/data/idx.h"
#include "worker/data/npy.h"
#include "worker/engine/create_engine.h"

namespace rondo::worker {
namespace {

class Loading {
 public:
  Loading(const TrainSpec& spec, const LoaderOptions& options, const Prepare& prepare)
      : spec_(spec), options_(options), prepare_(prepare) {}

  absl::Status OpenFiles(LoadedJob* job) {
    job->spec = spec_;
    RETURN_IF_ERROR(Identify(spec_.train, job));
    if (spec_.test) RETURN_IF_ERROR(Identify(*spec_.test, job));
    job->facts.data_hash = Sha256Hex(data_lines_);
    if (!spec_.torchscript.empty()) RETURN_IF_ERROR(Identify(spec_.torchscript, job));
    if (!spec_.init.empty()) RETURN_IF_ERROR(Identify(spec_.init, job));
    ASSIGN_OR_RETURN(job->train, Open(spec_.train));
    RETURN_IF_ERROR(CheckLabels(*job->train, spec_.train));
    job->facts.train_samples = static_cast<uint64_t>(job->train->size());
    if (!spec_.test) return absl::OkStatus();
    ASSIGN_OR_RETURN(job->test, Open(*spec_.test));
    RETURN_IF_ERROR(CheckLabels(*job->test, *spec_.test));
    job->facts.test_samples = static_cast<uint64_t>(job->test->size());
    return CheckTestSet(*job);
  }

  absl::Status BuildModel(LoadedJob* job) {
    EngineOptions options;
    switch (spec_.model) {
      case Model::kMlp:
        options.model = ModelKind::kMlp;
        break;
      case Model::kConvnet:
        options.model = ModelKind::kConvnet;
        break;
      case Model::kTorchScript:
        options.model = ModelKind::kTorchScript;
        break;
    }
    options.layers = spec_.layers;
    if (!spec_.torchscript.empty()) options.torchscript_path = Path(spec_.torchscript);
    if (!spec_.init.empty()) options.init_path = Path(spec_.init);
    options.loss = spec_.loss == Loss::kMse ? LossKind::kMse : LossKind::kCrossEntropy;
    options.seed = spec_.seed;
    options.input_shape = job->train->input_shape();
    options.input_type = job->train->input_type();
    if (options.loss == LossKind::kCrossEntropy) {
      options.class_count = job->train->class_count();
      if (job->test) options.class_count = std::max(options.class_count, job->test->class_count());
    }
    options.targets = TargetForm{job->train->target_type(), job->train->target_shape()};
    options.micro = spec_.micro;
    options.threads = options_.threads;
    ASSIGN_OR_RETURN(job->engine, CreateEngine(options));
    const Layout& layout = job->engine->layout();
    ASSIGN_OR_RETURN(job->optimizer, rondo::Optimizer::Create(spec_.optimizer, layout));
    job->facts.layout_hash = layout.Hash();
    job->facts.parameters = static_cast<uint64_t>(layout.parameter_count());
    job->facts.float_buffers = static_cast<uint64_t>(layout.float_buffer_count());
    return absl::OkStatus();
  }

 private:
  std::string Path(const std::string& relative) const {
    return (std::filesystem::path(options_.files_dir) / relative).string();
  }

  absl::StatusOr<std::unique_ptr<Dataset>> Open(const DataFiles& files) const {
    switch (spec_.format) {
      case DataFormat::kIdx:
        return OpenIdxDataset(Path(files.inputs), Path(files.targets), spec_.divisor);
      case DataFormat::kNpy:
        return OpenNpyDataset(Path(files.inputs), Path(files.targets), spec_.divisor);
    }
    return absl::InternalError("unknown data format");
  }

  absl::Status Identify(const DataFiles& files, LoadedJob* job) {
    for (const std::string* path : {&files.inputs, &files.targets}) {
      RETURN_IF_ERROR(Identify(*path, job));
      const FileFact& fact = job->facts.files.back();
      data_lines_ += fmt::format("{} {}\n", fact.size, fact.sha256);
    }
    return absl::OkStatus();
  }

  absl::Status Identify(const std::string& relative, LoadedJob* job) {
    ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(Path(relative)));
    const FileFact found{relative, static_cast<uint64_t>(identity.size_bytes),
                         (identity.sampled ? "sampled:" : "") + identity.sha256};
    job->facts.files.push_back(found);
    const auto expected = std::find_if(prepare_.files.begin(), prepare_.files.end(),
                                       [&](const FileFact& file) { return file.path == relative; });
    if (expected == prepare_.files.end()) return absl::OkStatus();
    const bool size_differs = expected->size != 0 && expected->size != found.size;
    const bool hash_differs = !expected->sha256.empty() && expected->sha256 != found.sha256;
    if (!size_differs && !hash_differs) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "{} differs from the job's: it has {} bytes and SHA-256 {}, the job's has {} and {}",
        Path(relative), found.size, found.sha256, expected->size, expected->sha256));
  }

  // Their greatest is held against the model's outputs by the engine.
  absl::Status CheckLabels(const Dataset& data, const DataFiles& files) const {
    if (spec_.loss != Loss::kCrossEntropy) return absl::OkStatus();
    const std::optional<NegativeTarget> found = data.FirstNegativeTarget();
    if (!found) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("{}: sample {} has label {}; labels begin at 0",
                                                  Path(files.targets), found->sample,
                                                  found->value));
  }

  absl::Status CheckTestSet(const LoadedJob& job) const {
    if (job.train->input_shape() == job.test->input_shape() &&
        job.train->target_shape() == job.test->target_shape() &&
        job.train->input_type() == job.test->input_type() &&
        job.train->target_type() == job.test->target_type()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        fmt::format("the samples of {} and {} have different shapes or types",
                    Path(spec_.train.inputs), Path(spec_.test->inputs)));
  }

  const TrainSpec& spec_;
  const LoaderOptions& options_;
  const Prepare& prepare_;
  std::string data_lines_;
};

}  // namespace

std::variant<LoadedJob, PrepareProblem> LoadJob(const TrainSpec& spec, const LoaderOptions& options,
                                                const Prepare& prepare) {
  LoadedJob job;
  Loading loading(spec, options, prepare);
  if (const absl::Status opened = loading.OpenFiles(&job); !opened.ok()) {
    return PrepareProblem{PrepareFault::kFiles, std::string(opened.message())};
  }
  if (const absl::Status built = loading.BuildModel(&job); !built.ok()) {
    return PrepareProblem{PrepareFault::kModel, std::string(built.message())};
  }
  return job;
}

}  // namespace rondo::worker
