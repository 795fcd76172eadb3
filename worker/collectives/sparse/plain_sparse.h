// For tests: the sparse all-reduce as sparse_allreduce.h says, of dense vectors in one thread, by
// sorts; and the checks that any right result passes.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_PLAIN_SPARSE_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_PLAIN_SPARSE_H_

#include <cstdint>
#include <vector>

#include "kernels/sparse_oracle.h"

namespace rondo {

using Vectors = std::vector<std::vector<float>>;  // by rank

// What all ranks bring to a step.
struct PlainInput {
  Vectors residuals;
  Vectors values;
  std::vector<float> factors;
};

struct PlainResult {
  std::vector<std::vector<PlainEntry>> selected;  // L of each rank
  std::vector<PlainEntry> delivered;              // G
  std::vector<float> mean;                        // G / sum of factors, dense
  Vectors residuals;
};

// residual_i + factor_i * values_i; the residual alone for factor 0.
Vectors Accumulated(const PlainInput& input);

// TopK(sum in rank order of TopK(a_i)).
PlainResult PlainReduce(const PlainInput& input, int64_t k);

// What a right step shows, judged without the oracle's own selection, bit for bit.
struct StepChecks {
  bool conserves = false;   // what left the residuals, summed in rank order, is G: nothing else did
  bool keeps_rest = false;  // every element that left a residual was cleared, the others unchanged
  bool counts = false;      // |G| = min(k, non-zeros of the sum)
  bool all() const { return conserves && keeps_rest && counts; }
};
// `residuals` after the step that delivered `delivered` of `input`.
StepChecks CheckStep(const PlainInput& input, int64_t k, const std::vector<PlainEntry>& delivered,
                     const Vectors& residuals);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_PLAIN_SPARSE_H_
