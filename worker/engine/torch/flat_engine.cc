#include "worker/engine/torch/flat_engine.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "kernels/flat_floats.h"
#include "kernels/norm.h"
#include "worker/engine/torch/guarded.h"
#include "worker/engine/torch/loss.h"

namespace rondo {
namespace {

// A flat tensor of zeros over `memory`, which must outlive it.
at::Tensor Allocate(int64_t size, FlatFloats* memory) {
  memory->assign(static_cast<size_t>(size), 0.0f);
  return at::from_blob(memory->data(), {size});
}

at::Tensor View(const at::Tensor& flat, const LayoutEntry& entry) {
  return flat.narrow(0, entry.offset, entry.size).view(entry.shape);
}

absl::Status CheckTensor(const NamedTensor& named, bool parameter) {
  const at::ScalarType type = named.tensor.scalar_type();
  const bool integer = c10::isIntegralType(type, /*includeBool=*/true);
  if (named.tensor.layout() == at::kStrided && named.tensor.device().is_cpu() &&
      (type == at::kFloat || (integer && !parameter)))
    return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "the model's {} '{}' is {} on {}: {}; convert the module with .float() before it is saved",
      parameter ? "parameter" : "buffer", named.name, toString(type), named.tensor.device().str(),
      parameter ? "parameters must be dense float32"
                : "buffers must be dense float32 or integers"));
}

// Not one: a model that squeezes its outputs would lose the samples' dimension.
constexpr int64_t kProbeSamples = 2;

// Zeros.
HostArray ProbeTargets(const TargetForm& form) {
  HostArray targets{.type = form.type, .shape = {kProbeSamples}};
  targets.shape.insert(targets.shape.end(), form.shape.begin(), form.shape.end());
  int64_t count = 1;
  for (const int64_t extent : targets.shape) count *= extent;
  if (form.type == ElementType::kFloat32) {
    targets.floats.resize(static_cast<size_t>(count));
  } else {
    targets.ints.resize(static_cast<size_t>(count));
  }
  return targets;
}

at::Tensor ToTensor(const HostArray& array, int64_t first, int64_t count) {
  std::vector<int64_t> shape = array.shape;
  shape[0] = count;
  int64_t each = 1;
  for (size_t i = 1; i < shape.size(); ++i) each *= shape[i];
  // A copy: forward may write into its inputs, and the caller keeps the batch.
  if (array.type == ElementType::kFloat32)
    return at::from_blob(const_cast<float*>(array.floats.data()) + first * each, shape,
                         at::TensorOptions(at::kFloat))
        .clone();
  return at::from_blob(const_cast<int64_t*>(array.ints.data()) + first * each, shape,
                       at::TensorOptions(at::kLong))
      .clone();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FlatEngine>> FlatEngine::Create(
    const EngineOptions& options, std::unique_ptr<TorchModule> module) {
  std::unique_ptr<FlatEngine> engine(new FlatEngine(options, std::move(module)));
  RETURN_IF_ERROR(engine->LayOut());
  engine->BindParameters();
  engine->BindBuffers();
  return engine;
}

FlatEngine::FlatEngine(const EngineOptions& options, std::unique_ptr<TorchModule> module)
    : options_(options), module_(std::move(module)) {}

absl::Status FlatEngine::LayOut() {
  for (const NamedTensor& parameter : module_->Parameters()) {
    RETURN_IF_ERROR(CheckTensor(parameter, /*parameter=*/true));
    Layout::Append(&layout_.parameters, parameter.name, parameter.tensor.sizes().vec());
  }
  for (const NamedTensor& buffer : module_->Buffers()) {
    RETURN_IF_ERROR(CheckTensor(buffer, /*parameter=*/false));
    const bool is_float = buffer.tensor.scalar_type() == at::kFloat;
    std::vector<LayoutEntry>* entries =
        is_float ? &layout_.float_buffers : &layout_.integer_buffers;
    Layout::Append(entries, buffer.name, buffer.tensor.sizes().vec());
    buffer_places_.push_back({is_float, entries->back().offset, entries->back().size, {}});
  }
  return absl::OkStatus();
}

void FlatEngine::BindParameters() {
  const c10::NoGradGuard no_grad;
  parameters_ = Allocate(layout_.parameter_count(), &parameter_memory_);
  gradients_ = Allocate(layout_.parameter_count(), &gradient_memory_);
  has_gradient_.resize(layout_.parameters.size());
  const std::vector<NamedTensor> tensors = module_->Parameters();
  for (size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor parameter = tensors[i].tensor;
    const at::Tensor view = View(parameters_, layout_.parameters[i]);
    view.copy_(parameter);
    parameter.set_data(view);
    if (!parameter.requires_grad()) continue;
    parameter.mutable_grad() = View(gradients_, layout_.parameters[i]);
    uint8_t* flag = &has_gradient_[i];
    parameter.register_hook([flag](const at::Tensor& gradient) {
      if (gradient.defined()) *flag = 1;
    });
  }
}

void FlatEngine::BindBuffers() {
  const c10::NoGradGuard no_grad;
  float_buffers_ = Allocate(layout_.float_buffer_count(), &float_buffer_memory_);
  integer_buffers_.resize(static_cast<size_t>(layout_.integer_buffer_count()));
  const std::vector<NamedTensor> buffers = module_->Buffers();
  size_t next_float = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffer_places_[i].is_float) continue;
    buffer_places_[i].view = View(float_buffers_, layout_.float_buffers[next_float++]);
    buffer_places_[i].view.copy_(buffers[i].tensor);
    module_->SetBuffer(i, buffer_places_[i].view);
  }
  PullBuffers();
}

void FlatEngine::PushIntegers() {
  if (integer_buffers_.empty()) return;
  const c10::NoGradGuard no_grad;
  const std::vector<NamedTensor> buffers = module_->Buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferPlace& place = buffer_places_[i];
    if (place.is_float) continue;
    at::Tensor buffer = buffers[i].tensor;
    buffer.copy_(at::from_blob(integer_buffers_.data() + place.offset, buffer.sizes(),
                               at::TensorOptions(at::kLong)));
  }
}

void FlatEngine::PullBuffers() {
  if (buffer_places_.empty()) return;
  const c10::NoGradGuard no_grad;
  const std::vector<NamedTensor> buffers = module_->Buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferPlace& place = buffer_places_[i];
    const at::Tensor buffer = buffers[i].tensor;
    TORCH_CHECK(buffer.numel() == place.size, "the model's buffer '", buffers[i].name,
                "' changed its size from ", place.size, " to ", buffer.numel());
    if (!place.is_float) {
      const at::Tensor whole = buffer.to(at::kLong).contiguous();
      std::copy_n(whole.data_ptr<int64_t>(), place.size, integer_buffers_.data() + place.offset);
    } else if (!buffer.is_same(place.view)) {  // forward has put another tensor in its place
      place.view.copy_(buffer);
      module_->SetBuffer(i, place.view);
    }
  }
}

void FlatEngine::SetTraining(bool training) {
  if (training_ != training) module_->SetTraining(training);
  training_ = training;
}

int64_t FlatEngine::PieceSize(const Batch& batch) const {
  return options_.micro > 0 ? std::min(options_.micro, batch.size) : batch.size;
}

FlatEngine::Piece FlatEngine::Cut(const Batch& batch, int64_t first, int64_t count) const {
  Piece piece;
  piece.inputs = ToTensor(batch.inputs, first, count);
  piece.targets = ToTensor(batch.targets, first, count);
  HostArray& host = piece.targets_host;
  host.type = batch.targets.type;
  host.shape = piece.targets.sizes().vec();
  const auto slice = [&](const auto& all, auto* part) {
    const auto each = static_cast<int64_t>(all.size()) / batch.size;
    part->assign(all.begin() + first * each, all.begin() + (first + count) * each);
  };
  slice(batch.targets.floats, &host.floats);
  slice(batch.targets.ints, &host.ints);
  if (!batch.samples.empty()) slice(batch.samples, &piece.samples);
  return piece;
}

absl::StatusOr<GradientResult> FlatEngine::ComputeGradient(const Batch& batch, int64_t step) {
  if (batch.size < 1 || static_cast<int64_t>(batch.positions.size()) != batch.size)
    return absl::InvalidArgumentError(
        fmt::format("a training batch of {} samples with {} positions: it must have at least one "
                    "sample, and one position for each",
                    batch.size, batch.positions.size()));
  return Guarded(fmt::format("training on a batch with inputs of shape [{}]",
                             fmt::join(batch.inputs.shape, ", ")),
                 [&] { return Accumulate(batch, step); });
}

absl::StatusOr<GradientResult> FlatEngine::Accumulate(const Batch& batch, int64_t step) {
  SetTraining(true);
  PushIntegers();
  std::fill(has_gradient_.begin(), has_gradient_.end(), uint8_t{0});
  gradients_.zero_();
  GradientResult result;
  result.samples = batch.size;
  const int64_t most = PieceSize(batch);
  for (int64_t first = 0; first < batch.size; first += most) {
    const int64_t count = std::min(most, batch.size - first);
    const Piece piece = Cut(batch, first, count);
    at::manual_seed(
        ComputeStepSeed(options_.seed, step, batch.positions[static_cast<size_t>(first)]));
    const at::Tensor outputs = module_->Forward(piece.inputs);
    RETURN_IF_ERROR(CheckTargets(options_.loss, outputs, piece.targets_host, piece.samples));
    at::Tensor loss = MeanLoss(options_.loss, outputs, piece.targets);
    const double share = static_cast<double>(count) / static_cast<double>(batch.size);
    result.loss += share * loss.item<float>();
    if (count < batch.size) loss = at::mul(loss, share);
    loss.backward();
  }
  PullBuffers();
  ASSIGN_OR_RETURN(const bool finite, IsFinite(gradients()));
  result.finite = finite && std::isfinite(result.loss);
  return result;
}

absl::StatusOr<Evaluation> FlatEngine::Evaluate(const Batch& batch) {
  if (batch.size < 1)
    return absl::InvalidArgumentError("an evaluation batch must have at least one sample");
  return Guarded(fmt::format("evaluating a batch with inputs of shape [{}]",
                             fmt::join(batch.inputs.shape, ", ")),
                 [&] { return EvaluatePieces(batch); });
}

absl::StatusOr<Evaluation> FlatEngine::EvaluatePieces(const Batch& batch) {
  const c10::NoGradGuard no_grad;
  SetTraining(false);
  PushIntegers();
  Evaluation sum;
  const int64_t most = PieceSize(batch);
  for (int64_t first = 0; first < batch.size; first += most) {
    const Piece piece = Cut(batch, first, std::min(most, batch.size - first));
    const at::Tensor outputs = module_->Forward(piece.inputs);
    RETURN_IF_ERROR(CheckTargets(options_.loss, outputs, piece.targets_host, piece.samples));
    const Evaluation part = EvaluateOutputs(options_.loss, outputs, piece.targets);
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
    sum.count += part.count;
  }
  return sum;
}

absl::Status FlatEngine::CheckFit() {
  std::vector<int64_t> shape = {kProbeSamples};
  shape.insert(shape.end(), options_.input_shape.begin(), options_.input_shape.end());
  return Guarded(fmt::format("the model does not take the data's inputs of shape [{}]",
                             fmt::join(shape, ", ")),
                 [&]() -> absl::Status {
                   const c10::NoGradGuard no_grad;
                   module_->SetTraining(false);
                   PushIntegers();
                   const at::ScalarType type =
                       options_.input_type == ElementType::kFloat32 ? at::kFloat : at::kLong;
                   const at::Tensor outputs =
                       module_->Forward(at::zeros(shape, at::TensorOptions(type)));
                   if (options_.targets)
                     RETURN_IF_ERROR(
                         CheckTargets(options_.loss, outputs, ProbeTargets(*options_.targets), {}));
                   const int64_t width = outputs.dim() == 0 ? 1 : outputs.size(-1);
                   if (options_.loss == LossKind::kCrossEntropy && width < options_.class_count)
                     return absl::InvalidArgumentError(fmt::format(
                         "the data has labels up to {}, but the model has {} outputs: it needs {}",
                         options_.class_count - 1, width, options_.class_count));
                   return absl::OkStatus();
                 });
}

}  // namespace rondo
