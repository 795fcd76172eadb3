// A model as the torch engine sees it. Only files of this folder include torch's headers.
#ifndef RONDO_WORKER_ENGINE_TORCH_MODULE_H_
#define RONDO_WORKER_ENGINE_TORCH_MODULE_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/create_engine.h"

namespace rondo {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // shares the module's own
};

// Functions throw what torch throws. Threads: one.
class TorchModule {
 public:
  virtual ~TorchModule() = default;

  // In registration order, each tensor once. The handles stay those of the module.
  virtual std::vector<NamedTensor> Parameters() = 0;
  // The buffers as they are now: a model may replace one by another tensor in forward.
  virtual std::vector<NamedTensor> Buffers() { return {}; }
  virtual void SetBuffer(size_t index, const at::Tensor& value) {
    (void)index;
    (void)value;
  }
  virtual void SetTraining(bool training) { (void)training; }
  // inputs [n, ...] -> logits or predictions [n, ...].
  virtual at::Tensor Forward(const at::Tensor& inputs) = 0;
};

// kMlp or kConvnet with PyTorch's default initial values after torch.manual_seed(options.seed).
// InvalidArgument: layers, input shape or class count that do not make a model.
absl::StatusOr<std::unique_ptr<TorchModule>> MakeBuiltinModule(const EngineOptions& options);

// Loads a TorchScript file onto the CPU. NotFound: no such file; InvalidArgument: not a TorchScript
// file, or no forward, or no parameters. May throw as torch does.
absl::StatusOr<std::unique_ptr<TorchModule>> LoadTorchScript(const std::string& path);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_MODULE_H_
