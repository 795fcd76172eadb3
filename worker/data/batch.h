// Samples in host memory, ready for the engine.
#ifndef RONDO_WORKER_DATA_BATCH_H_
#define RONDO_WORKER_DATA_BATCH_H_

#include <cstdint>
#include <vector>

namespace rondo {

enum class ElementType { kFloat32, kInt64 };

// A contiguous row-major array; `shape` has the sample count first. Elements are in `floats` or in
// `ints`, as `type` says; the other is empty.
struct HostArray {
  ElementType type = ElementType::kFloat32;
  std::vector<int64_t> shape = {};
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};
};

// `size` samples: inputs [size, ...input shape] and targets [size, ...target shape]. `positions`
// are the samples' positions in their epoch's order, from which randomness is seeded;
// empty for evaluation. The vectors keep their memory from one batch to the next.
struct Batch {
  int64_t size = 0;
  HostArray inputs;
  HostArray targets;
  std::vector<int64_t> samples;  // indices into the data set, for messages
  std::vector<int64_t> positions;
};

}  // namespace rondo

#endif  // RONDO_WORKER_DATA_BATCH_H_
