#include "worker/runtime/evaluation.h"

#include <vector>

#include "common/status_macros.h"

namespace rondo::worker {
namespace {

constexpr size_t kBatchSamples = 256;

}  // namespace

absl::StatusOr<Evaluated> EvaluateShare(Share share, const Dataset* test, Engine* engine,
                                        const std::function<bool()>& stop) {
  Evaluated evaluated;
  if (test == nullptr) return evaluated;
  Batch batch;
  std::vector<int64_t> samples;
  int64_t next = share.rank;
  while (next < test->size()) {
    if (stop()) return absl::AbortedError("the evaluation was given up");
    samples.clear();
    for (; next < test->size() && samples.size() < kBatchSamples; next += share.size) {
      samples.push_back(next);
    }
    test->Load(samples, &batch);
    ASSIGN_OR_RETURN(const Evaluation part, engine->Evaluate(batch));
    if (batch.targets.type == ElementType::kFloat32 && part.count > 0) {
      evaluated.loss_sum +=
          part.loss_sum / static_cast<double>(part.count) * static_cast<double>(batch.size);
      evaluated.count += static_cast<uint64_t>(batch.size);
      continue;
    }
    evaluated.loss_sum += part.loss_sum;
    evaluated.correct += static_cast<uint64_t>(part.correct);
    evaluated.count += static_cast<uint64_t>(part.count);
  }
  return evaluated;
}

}  // namespace rondo::worker
