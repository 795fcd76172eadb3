#include "worker/edge/job_codec.h"

#include <fmt/format.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/status_macros.h"

namespace rondo::worker {
namespace {

absl::Status Unknown(std::string_view field, int value) {
  return absl::InvalidArgumentError(
      fmt::format("job.{} has the value {}, which this version does not know", field, value));
}
absl::Status Missing(std::string_view field) {
  return absl::InvalidArgumentError(fmt::format("job.{} is missing", field));
}

absl::Status DecodeModel(const v1::Job& job, TrainSpec* spec) {
  switch (job.model().kind_case()) {
    case v1::Model::kMlp:
      spec->model = Model::kMlp;
      spec->layers.assign(job.model().mlp().layers().begin(), job.model().mlp().layers().end());
      break;
    case v1::Model::kConvnet:
      spec->model = Model::kConvnet;
      break;
    case v1::Model::kTorchscript:
      spec->model = Model::kTorchScript;
      spec->torchscript = job.model().torchscript().path();
      break;
    case v1::Model::KIND_NOT_SET:
      return Missing("model");
  }
  spec->init = job.model().init();
  switch (job.loss()) {
    case v1::LOSS_CROSS_ENTROPY:
      spec->loss = Loss::kCrossEntropy;
      break;
    case v1::LOSS_MSE:
      spec->loss = Loss::kMse;
      break;
    default:
      return Unknown("loss", job.loss());
  }
  if (job.precision() != v1::PRECISION_FLOAT32 && job.precision() != v1::PRECISION_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "job.precision is not float32, the only one that this build has");
  }
  return absl::OkStatus();
}

absl::Status DecodeData(const v1::Data& data, TrainSpec* spec) {
  switch (data.format()) {
    case v1::DATA_FORMAT_IDX:
      spec->format = DataFormat::kIdx;
      break;
    case v1::DATA_FORMAT_NPY:
      spec->format = DataFormat::kNpy;
      break;
    default:
      return Unknown("data.format", data.format());
  }
  if (!data.has_train()) return Missing("data.train");
  spec->train = {data.train().inputs(), data.train().targets()};
  if (data.has_test()) spec->test = DataFiles{data.test().inputs(), data.test().targets()};
  if (!(data.divisor() > 0)) {
    return absl::InvalidArgumentError(
        fmt::format("job.data.divisor is {}, it must be above 0", data.divisor()));
  }
  spec->divisor = data.divisor();
  spec->shuffle = data.shuffle();
  return absl::OkStatus();
}

absl::Status DecodeOptimizer(const v1::Job& job, TrainSpec* spec) {
  const v1::Optimizer& in = job.optimizer();
  OptimizerOptions& out = spec->optimizer;
  switch (in.kind()) {
    case v1::OPTIMIZER_KIND_SGD:
      out.kind = OptimizerKind::kSgd;
      break;
    case v1::OPTIMIZER_KIND_ADAMW:
      out.kind = OptimizerKind::kAdamw;
      break;
    default:
      return Unknown("optimizer.kind", in.kind());
  }
  out.momentum = in.momentum();
  out.nesterov = in.nesterov();
  out.beta1 = in.beta1();
  out.beta2 = in.beta2();
  out.eps = in.eps();
  out.weight_decay = in.weight_decay();
  out.no_decay.assign(in.no_decay().begin(), in.no_decay().end());
  out.clip_norm = in.clip_norm();
  switch (job.state().optimizer()) {
    case v1::OPTIMIZER_STATE_POLICY_LOCAL:
      spec->state_policy = StatePolicy::kLocal;
      break;
    case v1::OPTIMIZER_STATE_POLICY_AVERAGE:
      spec->state_policy = StatePolicy::kAverage;
      break;
    case v1::OPTIMIZER_STATE_POLICY_RESET:
      spec->state_policy = StatePolicy::kReset;
      break;
    default:
      return Unknown("state.optimizer", job.state().optimizer());
  }
  return absl::OkStatus();
}

absl::Status DecodeCollective(const v1::Collective& in, TrainSpec* spec) {
  switch (in.select()) {
    case v1::SELECT_MODE_UNSPECIFIED:  // A dense collective's.
    case v1::SELECT_MODE_EXACT:
      spec->select = SparseSelect::kExact;
      return absl::OkStatus();
    case v1::SELECT_MODE_THRESHOLD:
      spec->select = SparseSelect::kThreshold;
      return absl::OkStatus();
    default:
      return Unknown("collective.select", in.select());
  }
}

}  // namespace

absl::StatusOr<TrainSpec> DecodeJob(const v1::Job& job) {
  TrainSpec spec;
  if (job.id().empty()) return Missing("id");
  spec.job_id = job.id();
  spec.seed = job.seed();
  RETURN_IF_ERROR(DecodeModel(job, &spec));
  RETURN_IF_ERROR(DecodeData(job.data(), &spec));
  RETURN_IF_ERROR(DecodeOptimizer(job, &spec));
  RETURN_IF_ERROR(DecodeCollective(job.collective(), &spec));
  spec.micro = job.batch().micro();
  if (job.checkpoint().partials()) {
    spec.partial_every = static_cast<uint64_t>(job.checkpoint().every_steps());
  }
  spec.shared_dir = job.checkpoint().shared_dir();
  return spec;
}

}  // namespace rondo::worker
