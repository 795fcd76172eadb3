// Training or test samples on disk.
#ifndef RONDO_WORKER_DATA_DATASET_H_
#define RONDO_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/batch.h"

namespace rondo {

struct NegativeTarget {
  int64_t sample;
  int64_t value;
};

// Immutable once opened; its files are memory-mapped and must not change while it lives.
// Threads: any may call const methods at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Samples; at least 1.
  virtual int64_t size() const = 0;
  // Per sample, without the sample count: [1, rows, columns] for images; [] for one number.
  virtual const std::vector<int64_t>& input_shape() const = 0;
  virtual const std::vector<int64_t>& target_shape() const = 0;
  // As Load gives them, not as on disk: uint8 inputs arrive as float32, uint8 targets as int64.
  virtual ElementType input_type() const = 0;
  virtual ElementType target_type() const = 0;
  // One more than the greatest integer target; 0 for float targets. Negative targets do not count.
  // Cost: the first call reads all targets.
  virtual int64_t class_count() const = 0;
  // The first sample with an integer target below 0, which is no label. Cost: reads int64 targets
  // up to it.
  virtual std::optional<NegativeTarget> FirstNegativeTarget() const { return std::nullopt; }
  // Paths as given at opening: what a job's identity is made of, in a fixed order.
  virtual std::vector<std::string> files() const = 0;

  // Copies samples, each in [0, size()), into `batch` (size, inputs, targets, samples); its
  // positions are left alone. Indices may repeat and be in any order.
  virtual void Load(std::span<const int64_t> samples, Batch* batch) const = 0;
};

// SHA-256 over the lines "BASENAME SIZE SHA256\n" of files(), the hashes as IdentifyFile of
// common/sha256.h gives them: equal on all members that have the same data under any folder.
absl::StatusOr<std::string> HashDataset(const Dataset& dataset);

}  // namespace rondo

#endif  // RONDO_WORKER_DATA_DATASET_H_
