// One member's share of an evaluation.
#ifndef RONDO_WORKER_RUNTIME_EVALUATION_H_
#define RONDO_WORKER_RUNTIME_EVALUATION_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/data/dataset.h"
#include "worker/engine/engine.h"

namespace rondo::worker {

struct Share {
  uint32_t rank = 0;
  uint32_t size = 1;
};

// Loss sum, correct and count over the samples congruent to rank mod size; group and round are left
// to the caller. Classes: correct and count are of targets. Real targets (mse): nothing is correct,
// count is of samples, loss sum of each sample's mean. A share may be empty. `test` may be null:
// then nothing is counted. `stop` is asked before each batch. Errors: Aborted when it says so, else
// the engine's.
absl::StatusOr<Evaluated> EvaluateShare(Share share, const Dataset* test, Engine* engine,
                                        const std::function<bool()>& stop);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_EVALUATION_H_
