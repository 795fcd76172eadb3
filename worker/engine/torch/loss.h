// Losses of outputs against targets, with the checks that torch would answer less clearly.
#ifndef RONDO_WORKER_ENGINE_TORCH_LOSS_H_
#define RONDO_WORKER_ENGINE_TORCH_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "worker/data/batch.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"

namespace rondo {

// Whether outputs and targets of `count` samples fit. kCrossEntropy: outputs [..., classes], one
// int64 target in [0, classes) for each row; kMse: float32 targets, as many as outputs a sample.
// InvalidArgument names the shapes, or the sample (from `samples`, one a sample) and its label.
absl::Status CheckTargets(LossKind kind, const at::Tensor& outputs, const HostArray& targets,
                          std::span<const int64_t> samples);

// The mean, a scalar with its graph. Throws as torch does.
at::Tensor MeanLoss(LossKind kind, const at::Tensor& outputs, const at::Tensor& targets);

// In double over the float32 outputs.
Evaluation EvaluateOutputs(LossKind kind, const at::Tensor& outputs, const at::Tensor& targets);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_LOSS_H_
