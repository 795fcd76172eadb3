// The optimizer's part of a step in parallel mode.
#ifndef RONDO_WORKER_RUNTIME_MEAN_STEP_H_
#define RONDO_WORKER_RUNTIME_MEAN_STEP_H_

#include "absl/status/status.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/member_state.h"

namespace rondo::worker {

// Steps the working parameters with the last result of `gradients`: a parameter moves if any member
// had a gradient for it, so that all members stay alike; and the residual that the result's
// reduction staged holds from now on. The result stays as it was reduced, for members that still
// need it. Cost: one more pass if gradients are clipped, which then go through the engine's own
// gradients. Threads: the trainer's. Errors: the optimizer's.
absl::Status StepWithMean(double rate, GradientReducer* gradients, MemberState* state);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_MEAN_STEP_H_
