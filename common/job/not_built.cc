#include "common/job/not_built.h"

namespace rondo {

const std::vector<NotBuilt>& NotBuiltYet() {
  using v1::Job;
  static const std::vector<NotBuilt> rows = {
      {"precision", "training in bf16", "use precision: float32",
       [](const Job& job) { return job.precision() == v1::PRECISION_BF16; }},
  };
  return rows;
}

}  // namespace rondo
