// IDX files (the format of MNIST): big-endian uint32 magic, one uint32 per dimension, uint8 data.
// Format: http://yann.lecun.com/exdb/mnist.
#ifndef RONDO_WORKER_DATA_IDX_H_
#define RONDO_WORKER_DATA_IDX_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/data/dataset.h"

namespace rondo {

// `images`: magic 0x00000803, shape [n, rows, columns]; inputs are pixel / `divisor` in float32, of
// shape [1, rows, columns]. `labels`: magic 0x00000801, shape [n]; targets are int64.
// InvalidArgument names the file, what is wrong (magic, size, counts that differ, divisor) and what
// is expected; NotFound, Unavailable as MappedFile.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdxDataset(const std::string& images,
                                                        const std::string& labels, double divisor);

}  // namespace rondo

#endif  // RONDO_WORKER_DATA_IDX_H_
