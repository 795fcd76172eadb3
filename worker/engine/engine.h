// A model in flat memory: its gradient on a batch, its quality on another. The trainer knows no
// more of it, and no type of the library behind it appears here.
#ifndef RONDO_WORKER_ENGINE_ENGINE_H_
#define RONDO_WORKER_ENGINE_ENGINE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/span.h"
#include "worker/data/batch.h"
#include "worker/engine/layout.h"

namespace rondo {

struct GradientResult {
  double loss = 0;  // mean over the batch (cross entropy: over all its targets)
  int64_t samples = 0;
  bool finite = true;  // the loss and every gradient element
};

struct Evaluation {
  double loss_sum = 0;  // cross entropy: over targets; mse: over elements
  int64_t correct = 0;  // targets whose greatest logit (the first of equals) is theirs; 0 for mse
  int64_t count = 0;    // what loss_sum adds up: mean loss = loss_sum / count
};

// Threads: one thread, the one that created it; not two engines at a time with different `threads`.
// Memory: all spans stay valid, at the same place, for the engine's life, and writing to them
// changes the model at once.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const Layout& layout() const = 0;
  // Sizes are those of layout().
  virtual DeviceSpan<float> parameters() = 0;
  virtual DeviceSpan<float> gradients() = 0;
  virtual DeviceSpan<float> float_buffers() = 0;
  virtual std::span<int64_t> integer_buffers() = 0;

  // One entry a parameter of layout(): 1 if the last ComputeGradient gave it a gradient, 0 if it
  // took no part (frozen, or not used by forward). A parameter without one must keep its value,
  // decay included: Optimizer::Step takes this. In parallel mode members must agree on it (any of
  // them: 1).
  virtual std::span<const uint8_t> has_gradient() const = 0;

  // Training mode: sets gradients() to the gradient of the mean loss over `batch` (of at least one
  // sample), taken in pieces of at most `micro` samples, each weighed by its share. Random layers
  // are seeded before each piece from (seed, step, the piece's first position; batch.positions
  // holds one a sample). Buffers move as the model says. Values that are not finite are no error.
  // InvalidArgument: the batch does not fit the model or the loss (names the sample and the label);
  // Internal: the library's own message.
  virtual absl::StatusOr<GradientResult> ComputeGradient(const Batch& batch, int64_t step) = 0;

  // Evaluation mode, no gradient, buffers as they are; the loss in double over float32 outputs.
  // Errors as ComputeGradient.
  virtual absl::StatusOr<Evaluation> Evaluate(const Batch& batch) = 0;
};

// The torch seed of a piece of a batch: Mix64(Mix64(Mix64(seed) + step) + position).
uint64_t ComputeStepSeed(uint64_t seed, int64_t step, int64_t first_position);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_ENGINE_H_
