// Stochastic gradient descent with momentum, one fused pass, with the semantics of torch.optim.SGD
// (dampening 0):
//   d = grad + weight_decay * weight;  velocity = momentum * velocity + d;
//   weight -= learning_rate * velocity, with Nesterov weight -= learning_rate * (d + momentum *
//   velocity).
#ifndef RONDO_KERNELS_SGD_H_
#define RONDO_KERNELS_SGD_H_

#include "absl/status/status.h"
#include "kernels/sgd_formula.h"

namespace rondo {

// One step over `tensors` (shapes: there). A model with parts of different weight decay calls it
// once a part. Threads: any, on spans that don't overlap. On a GPU the work is queued to the spans'
// stream. Cost: reads and writes 20 bytes an element, 12 without momentum. Errors: InvalidArgument
// for spans that don't fit together or Nesterov without momentum, FailedPrecondition for a CUDA
// span in a build without CUDA. Nothing is written then.
absl::Status Sgd(const SgdParams& params, const SgdTensors& tensors);

}  // namespace rondo

#endif  // RONDO_KERNELS_SGD_H_
