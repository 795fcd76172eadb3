#include "worker/engine/torch/loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace rondo {
namespace {

std::string Shape(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes().vec(), ", "));
}

absl::Status CheckClasses(const at::Tensor& outputs, const HostArray& targets,
                          std::span<const int64_t> samples) {
  if (targets.type != ElementType::kInt64)
    return absl::InvalidArgumentError(
        "loss cross_entropy needs integer targets (int64 or uint8), the data has float32");
  const auto count = static_cast<int64_t>(targets.ints.size());
  if (outputs.dim() < 2 || outputs.numel() != count * outputs.size(-1))
    return absl::InvalidArgumentError(fmt::format(
        "the model's outputs have shape {} for targets of shape [{}]: cross_entropy needs one "
        "logit a class in the last dimension, and one row of them for each target",
        Shape(outputs), fmt::join(targets.shape, ", ")));
  const int64_t classes = outputs.size(-1);
  const int64_t each = samples.empty() ? 1 : count / static_cast<int64_t>(samples.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = targets.ints[static_cast<size_t>(i)];
    if (label >= 0 && label < classes) continue;
    return absl::InvalidArgumentError(fmt::format(
        "sample {} has label {}, but the model has {} outputs: labels from 0 to {} "
        "are allowed",
        samples.empty() ? i : samples[static_cast<size_t>(i / each)], label, classes, classes - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckValues(const at::Tensor& outputs, const HostArray& targets) {
  if (targets.type != ElementType::kFloat32)
    return absl::InvalidArgumentError(
        "loss mse needs float32 targets, the data has integers; convert them with numpy's astype");
  if (outputs.numel() != static_cast<int64_t>(targets.floats.size()))
    return absl::InvalidArgumentError(
        fmt::format("the model's predictions have shape {}, the targets [{}]: mse needs as many of "
                    "one as of the other",
                    Shape(outputs), fmt::join(targets.shape, ", ")));
  return absl::OkStatus();
}

// [..., classes] -> [rows, classes].
at::Tensor Rows(const at::Tensor& outputs) { return outputs.reshape({-1, outputs.size(-1)}); }

}  // namespace

absl::Status CheckTargets(LossKind kind, const at::Tensor& outputs, const HostArray& targets,
                          std::span<const int64_t> samples) {
  if (outputs.scalar_type() != at::kFloat)
    return absl::InvalidArgumentError(fmt::format("the model's outputs are {}, expected float32",
                                                  toString(outputs.scalar_type())));
  switch (kind) {
    case LossKind::kCrossEntropy:
      return CheckClasses(outputs, targets, samples);
    case LossKind::kMse:
      return CheckValues(outputs, targets);
  }
  return absl::InternalError("the loss is not one of LossKind");
}

at::Tensor MeanLoss(LossKind kind, const at::Tensor& outputs, const at::Tensor& targets) {
  if (kind == LossKind::kCrossEntropy)
    return at::cross_entropy_loss(Rows(outputs), targets.reshape({-1}));
  return at::mse_loss(outputs.reshape({-1}), targets.reshape({-1}));
}

Evaluation EvaluateOutputs(LossKind kind, const at::Tensor& outputs, const at::Tensor& targets) {
  Evaluation result;
  result.count = targets.numel();
  const at::Tensor flat_targets = targets.reshape({-1});
  if (kind == LossKind::kCrossEntropy) {
    const at::Tensor rows = Rows(outputs);
    result.loss_sum =
        at::cross_entropy_loss(rows.to(at::kDouble), flat_targets, std::nullopt, at::Reduction::Sum)
            .item<double>();
    result.correct = rows.argmax(1).eq(flat_targets).sum().item<int64_t>();
  } else {
    result.loss_sum = at::mse_loss(outputs.reshape({-1}).to(at::kDouble),
                                   flat_targets.to(at::kDouble), at::Reduction::Sum)
                          .item<double>();
  }
  return result;
}

}  // namespace rondo
