// How many samples a data file has, from its header alone.
#ifndef RONDO_COMMON_JOB_DATA_SIZE_H_
#define RONDO_COMMON_JOB_DATA_SIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo {

struct DataSize {
  int64_t samples = 0;              // 0: not known, or no data.
  std::vector<int64_t> shape = {};  // Of one sample; empty for scalars.
};

struct DataSizes {
  DataSize train;
  DataSize test;  // samples 0 when the job has no test set.
};

// The first dimension and the others of an IDX file (magic 0x00000803 and the like) or an .npy file
// (format 1.0 to 3.0). The file must be as long as its header says; the values are not read.
// Errors: NotFound; InvalidArgument for a file of another format, cut short or too long.
absl::StatusOr<DataSize> ReadDataSize(v1::DataFormat format, const std::string& path);

// The sizes of the job's sets below `files_dir`. Inputs and targets must have the same count, train
// and test inputs the same shape.
absl::StatusOr<DataSizes> ReadDataSizes(const v1::Data& data, const std::string& files_dir);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_DATA_SIZE_H_
