// AdamW (Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019), one fused pass,
// with the semantics of torch.optim.AdamW. In step t = 1, 2, ..., with m and s the moments:
//   w -= lr * wd * w;  m = b1 * m + (1 - b1) * g;  s = b2 * s + (1 - b2) * g^2;
//   w -= lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 - b2^t) + eps).
// The decay is subtracted, not multiplied in as (1 - lr * wd): that factor loses most of its digits
// in float32.
#ifndef RONDO_KERNELS_ADAMW_H_
#define RONDO_KERNELS_ADAMW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/adamw_formula.h"

namespace rondo {

struct AdamwOptions {
  double learning_rate = 0;  // not negative
  double beta1 = 0.9;        // in [0, 1)
  double beta2 = 0.999;      // in [0, 1)
  double eps = 1e-8;         // not negative
  double weight_decay = 0;   // not negative
  int64_t step =
      1;  // this step's number for the moments' bias: 1 for the first step after they were zero
};

// The step's float32 constants. InvalidArgument, naming the option, if one is out of the range
// given above.
absl::StatusOr<AdamwParams> MakeAdamwParams(const AdamwOptions& options);

// One step over `tensors` (shapes: there). A model with parts of different weight decay calls it
// once a part. Threads: any, on spans that don't overlap. On a GPU the work is queued to the spans'
// stream. Cost: reads and writes 28 bytes an element. Errors: InvalidArgument for spans that don't
// fit together, FailedPrecondition for a CUDA span in a build without CUDA. Nothing is written
// then.
absl::Status Adamw(const AdamwParams& params, const AdamwTensors& tensors);

}  // namespace rondo

#endif  // RONDO_KERNELS_ADAMW_H_
