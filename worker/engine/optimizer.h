// Optimizer state and steps over flat memory: PyTorch's SGD and AdamW.
#ifndef RONDO_WORKER_ENGINE_OPTIMIZER_H_
#define RONDO_WORKER_ENGINE_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "worker/engine/layout.h"

namespace rondo {

enum class OptimizerKind { kSgd, kAdamw };

// What a sync does to the moments; the trainer acts on it, through Optimizer::moments() and
// Reset().
enum class StatePolicy { kLocal, kAverage, kReset };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  double momentum = 0;    // sgd
  bool nesterov = false;  // sgd; needs momentum > 0
  double beta1 = 0.9;     // adamw
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // sgd: L2; adamw: decoupled
  std::vector<std::string> no_decay =
      {};                // a parameter whose name contains one of these has no decay
  double clip_norm = 0;  // 0: none
};

// Owns the moments, which start at zero. Threads: one.
class Optimizer {
 public:
  // InvalidArgument names the option, its value and what is allowed; a no_decay that is
  // part of no parameter's name comes with the nearest one.
  static absl::StatusOr<std::unique_ptr<Optimizer>> Create(const OptimizerOptions& options,
                                                           const Layout& layout);

  // One step on parameters [n] with gradients [n], n = layout.parameter_count(). Gradients are
  // scaled in place by min(1, clip_norm / (norm + 1e-6)) first, norm over all of them in double.
  // `has_gradient`: Engine::has_gradient(); a parameter with 0 keeps value and moments. Empty: all
  // have. `learning_rate` becomes float32 here. step_count() grows by one. InvalidArgument: sizes
  // differ.
  absl::Status Step(DeviceSpan<float> parameters, DeviceSpan<float> gradients, double learning_rate,
                    std::span<const uint8_t> has_gradient = {});

  // Flat vectors [n] each: sgd with momentum: velocity; sgd without: none; adamw: first and second
  // moment. Valid for the optimizer's life; the trainer may average, copy or overwrite them.
  std::vector<DeviceSpan<float>> moments();
  // Steps taken since the moments were zero: adamw's bias correction counts by it.
  int64_t step_count() const { return step_count_; }
  // With moments from another member or from a file.
  void set_step_count(int64_t step_count) { step_count_ = step_count; }
  // Whether Step changes the gradients it is given.
  bool clips() const { return options_.clip_norm > 0; }
  // Moments and step count to zero.
  void Reset();

 private:
  // Elements [offset, offset + size) of the flat vectors.
  struct Place {
    int64_t offset, size;
    bool decays;
  };

  Optimizer(const OptimizerOptions& options, const Layout& layout);
  absl::Status ClipGradients(DeviceSpan<float> gradients);
  absl::Status StepSegment(const Place& segment, DeviceSpan<float> parameters,
                           DeviceSpan<const float> gradients, double learning_rate);

  const OptimizerOptions options_;
  const int64_t size_;
  std::vector<Place> places_;  // One a parameter.
  std::vector<FlatFloats> moments_;
  int64_t step_count_ = 0;
};

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_OPTIMIZER_H_
