#include "common/job/not_built.h"

namespace rondo {

const std::vector<NotBuilt>& NotBuiltYet() {
  using v1::Job;
  static const std::vector<NotBuilt> rows = {
      {"collective.kind", "the sparse collective", "use kind: ring",
       [](const Job& job) { return job.collective().kind() == v1::COLLECTIVE_KIND_SPARSE; }},
      {"collective.kind", "the choice between dense and sparse", "use kind: ring",
       [](const Job& job) { return job.collective().kind() == v1::COLLECTIVE_KIND_AUTO; }},
      {"precision", "training in bf16", "use precision: float32",
       [](const Job& job) { return job.precision() == v1::PRECISION_BF16; }},
  };
  return rows;
}

}  // namespace rondo
