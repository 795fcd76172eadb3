// NumPy's .npy files, versions 1.0, 2.0 and 3.0.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
#ifndef RONDO_WORKER_DATA_NPY_H_
#define RONDO_WORKER_DATA_NPY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/dataset.h"

namespace rondo {

// What a header says.
struct NpyHeader {
  std::string descr;  // element type: "<f4", "<i8", "|u1"
  bool fortran_order = false;
  std::vector<int64_t> shape;
  int64_t data_start = 0;  // in the file
};

// `bytes`: the file's beginning, at least its header. InvalidArgument says what is wrong; the
// caller adds the file's name.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

// Arrays of one row a sample, C order, of any shape [n, ...], n >= 1; float32, int64 or uint8.
// Inputs: float32 and int64 as they are (int64 is for a model that looks tokens up), uint8 as
// float32, divided by `divisor` (> 0). Targets: float32 as they are, int64 and uint8 as int64.
// InvalidArgument names the file, what is wrong and what is expected; NotFound, Unavailable as
// MappedFile.
absl::StatusOr<std::unique_ptr<Dataset>> OpenNpyDataset(const std::string& inputs,
                                                        const std::string& targets, double divisor);

}  // namespace rondo

#endif  // RONDO_WORKER_DATA_NPY_H_
