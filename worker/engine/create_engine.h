// Which model an engine holds, and how it is made.
#ifndef RONDO_WORKER_ENGINE_CREATE_ENGINE_H_
#define RONDO_WORKER_ENGINE_CREATE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/batch.h"
#include "worker/engine/engine.h"

namespace rondo {

enum class ModelKind { kMlp, kConvnet, kTorchScript };
enum class LossKind { kCrossEntropy, kMse };

// Targets of the data: Dataset::target_type() and target_shape().
struct TargetForm {
  ElementType type = ElementType::kInt64;
  std::vector<int64_t> shape = {};
};

struct EngineOptions {
  ModelKind model = ModelKind::kMlp;
  std::vector<int64_t> layers = {};   // kMlp: inputs, hidden..., outputs; at least two, each >= 1
  std::string torchscript_path = {};  // kTorchScript
  std::string init_path = {};  // safetensors with the initial values; empty: from the seed, or
                               // a TorchScript file's own values
  LossKind loss = LossKind::kCrossEntropy;
  uint64_t seed = 0;                      // of the initial values and of what is random in a step
  std::vector<int64_t> input_shape = {};  // of one sample; Dataset::input_shape()
  ElementType input_type = ElementType::kFloat32;  // Dataset::input_type()
  int64_t class_count = 0;  // Dataset::class_count() over all data; 0: not known, or kMse
  std::optional<TargetForm> targets = {};  // none: not known, so not checked here
  int64_t micro = 0;                       // at most that many samples at once; 0: the whole batch
  int threads = 1;                         // of the library, in this process
};

// Builds the model. InvalidArgument: options that no model can have, a TorchScript file or an init
// file that does not fit (each missing, extra or misshapen tensor is named), fewer outputs than
// classes, targets that the loss or the outputs do not fit. NotFound: a file is missing.
absl::StatusOr<std::unique_ptr<Engine>> CreateEngine(const EngineOptions& options);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_CREATE_ENGINE_H_
