// Reads and writes safetensors files: 8 bytes little-endian header length, a JSON header
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {...}}, then the data.
// Format: https://github.com/huggingface/safetensors#format. Only little-endian hosts.
#ifndef RONDO_COMMON_SAFETENSORS_H_
#define RONDO_COMMON_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rondo {

// Element types that are read and written. Headers may name others (F16, BF16, I32, ...): those can
// be listed but not read.
enum class SafetensorsType { kF32, kF64, kI64, kU8 };

// "F32", "F64", "I64", "U8".
std::string_view SafetensorsTypeName(SafetensorsType type);
int64_t SafetensorsTypeBytes(SafetensorsType type);

// One tensor as the header describes it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as in the file
  std::vector<int64_t> shape;
  int64_t elements = 0;
  // Bytes [begin, end) of the data part.
  int64_t begin = 0;
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the data
  std::map<std::string, std::string> metadata;
  int64_t data_start = 0;  // of the data part, in the file
};

// The header alone; no data is read. The checks are strict: header of at most 100 MB, valid JSON,
// known element types, sizes that fit shape and type, data without holes or overlap, exact file
// size. NotFound: no such file. InvalidArgument: names the file, what is wrong and what is
// expected.
absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path);

// Reads the data of one entry of that file's header into `out`, which holds entry.elements elements
// of `type`. InvalidArgument if the file's type is another.
absl::Status ReadSafetensorsData(const std::string& path, const SafetensorsHeader& header,
                                 const SafetensorsEntry& entry, SafetensorsType type, void* out);

// A tensor to write; `data` is borrowed, contiguous, row-major.
struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

// Writes path.tmp.PID, fsyncs it and renames it to `path` (and fsyncs the folder): readers see the
// old file or the new one. Tensors keep their order. InvalidArgument: two tensors of one name, or
// the name
// "__metadata__"; Unavailable: the system's reason.
absl::Status WriteSafetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace rondo

#endif  // RONDO_COMMON_SAFETENSORS_H_
