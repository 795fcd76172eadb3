#include "common/job/data_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "common/file_kind.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

constexpr size_t kNpyHeaderBytesMax = 65536;
constexpr size_t kDimensionsMax = 32;

// An open file and what to call it in messages.
struct Input {
  std::ifstream stream;
  std::string path;
  uint64_t bytes = 0;
};

absl::Status Wrong(const Input& in, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("the data file {} {}", in.path, what));
}

absl::StatusOr<Input> Open(const std::string& path) {
  if (const std::string_view kind = UnusualFileKind(path); !kind.empty()) {
    return absl::NotFoundError(
        fmt::format("cannot read the data file {}: it is {}, not a regular file", path, kind));
  }
  std::error_code code;
  const uint64_t bytes = std::filesystem::file_size(path, code);
  Input in = {.stream = std::ifstream(path, std::ios::binary), .path = path, .bytes = bytes};
  if (code || !in.stream) {
    return absl::NotFoundError(fmt::format(
        "cannot read the data file {}: {}; files are looked for below the folder of --files", path,
        code ? code.message() : "no permission"));
  }
  return in;
}

absl::Status Take(Input& in, size_t count, std::string* text) {
  text->assign(count, '\0');
  in.stream.read(text->data(), static_cast<std::streamsize>(count));
  if (static_cast<size_t>(in.stream.gcount()) != count) return Wrong(in, "ends within its header");
  return absl::OkStatus();
}

// header + item_bytes * product of dimensions == the file's length, without overflow.
absl::Status CheckLength(const Input& in, uint64_t header_bytes, uint64_t item_bytes,
                         const std::vector<int64_t>& dimensions) {
  unsigned __int128 expected = item_bytes;
  for (int64_t d : dimensions) {
    expected *= static_cast<uint64_t>(d);
    if (expected > (uint64_t{1} << 62)) return Wrong(in, "claims more values than a file can hold");
  }
  expected += header_bytes;
  if (expected == in.bytes) return absl::OkStatus();
  return Wrong(in, fmt::format("has {} bytes where its header says {}: it is cut short or not of "
                               "this format",
                               in.bytes, static_cast<uint64_t>(expected)));
}

absl::StatusOr<DataSize> FromDimensions(const Input& in, const std::vector<int64_t>& dimensions) {
  if (dimensions.empty() || dimensions[0] == 0) return Wrong(in, "holds no samples");
  return DataSize{.samples = dimensions[0], .shape = {dimensions.begin() + 1, dimensions.end()}};
}

absl::StatusOr<DataSize> ReadIdx(Input& in) {
  std::string magic;
  RETURN_IF_ERROR(Take(in, 4, &magic));
  const auto count = static_cast<unsigned char>(magic[3]);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || count < 1 || count > kDimensionsMax) {
    return Wrong(in,
                 "is not IDX of unsigned bytes: it must begin with 00 00 08 and the number of "
                 "dimensions");
  }
  std::vector<int64_t> dimensions;
  for (int i = 0; i < count; ++i) {
    std::string word;
    RETURN_IF_ERROR(Take(in, 4, &word));
    uint32_t value = 0;
    for (char c : word) value = value << 8 | static_cast<unsigned char>(c);
    dimensions.push_back(value);
  }
  RETURN_IF_ERROR(CheckLength(in, 4 + 4 * uint64_t{count}, 1, dimensions));
  return FromDimensions(in, dimensions);
}

// The text after `'key':` in the header's Python dictionary; empty when there is none.
std::string_view NpyValue(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return "";
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

// "(1500, 8, 8)" or "(1500,)".
bool ParseShape(std::string_view text, std::vector<int64_t>* dimensions) {
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return false;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (at != last) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t value = 0;
    const auto [next, code] = std::from_chars(at, last, value);
    if (code != std::errc() || value < 0 || dimensions->size() >= kDimensionsMax) return false;
    dimensions->push_back(value);
    at = next;
  }
  return true;
}

absl::StatusOr<DataSize> ReadNpy(Input& in) {
  std::string start;
  RETURN_IF_ERROR(Take(in, 8, &start));
  const int version = static_cast<unsigned char>(start[6]);
  if (start.substr(0, 6) != "\x93NUMPY" || version < 1 || version > 3) {
    return Wrong(in, "is not .npy of version 1 to 3: save it with numpy.save");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  std::string length_text;
  RETURN_IF_ERROR(Take(in, length_bytes, &length_text));
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(length_text[i])) << (8 * i);
  }
  if (length > kNpyHeaderBytesMax) return Wrong(in, "has a header that is too long");
  std::string header;
  RETURN_IF_ERROR(Take(in, length, &header));
  constexpr std::array<std::pair<std::string_view, uint64_t>, 5> kTypes = {
      {{"'<f4'", 4}, {"'<i8'", 8}, {"'|u1'", 1}, {"'=f4'", 4}, {"'u1'", 1}}};
  const std::string_view type = NpyValue(header, "descr");
  const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) {
    return type.substr(0, row.first.size()) == row.first;
  });
  if (known == kTypes.end()) {
    return Wrong(in, "must hold little-endian float32, int64 or uint8: convert it with astype");
  }
  if (NpyValue(header, "fortran_order").substr(0, 5) != "False") {
    return Wrong(in, "is in Fortran order: save it with numpy.ascontiguousarray");
  }
  std::vector<int64_t> dimensions;
  if (!ParseShape(NpyValue(header, "shape"), &dimensions)) return Wrong(in, "has no shape");
  RETURN_IF_ERROR(CheckLength(in, 8 + length_bytes + length, known->second, dimensions));
  return FromDimensions(in, dimensions);
}

absl::StatusOr<DataSize> ReadSet(const v1::Data& data, const v1::DataFiles& files,
                                 const std::string& files_dir) {
  const std::filesystem::path dir = files_dir;
  ASSIGN_OR_RETURN(const DataSize inputs,
                   ReadDataSize(data.format(), (dir / files.inputs()).string()));
  ASSIGN_OR_RETURN(const DataSize targets,
                   ReadDataSize(data.format(), (dir / files.targets()).string()));
  if (inputs.samples != targets.samples) {
    return absl::InvalidArgumentError(
        fmt::format("{} has {} samples but {} has {}: they are not of one data set", files.inputs(),
                    inputs.samples, files.targets(), targets.samples));
  }
  return inputs;
}

}  // namespace

absl::StatusOr<DataSize> ReadDataSize(v1::DataFormat format, const std::string& path) {
  ASSIGN_OR_RETURN(Input in, Open(path));
  if (format == v1::DATA_FORMAT_IDX) return ReadIdx(in);
  if (format == v1::DATA_FORMAT_NPY) return ReadNpy(in);
  return Wrong(in, "has a format that this version does not know");
}

absl::StatusOr<DataSizes> ReadDataSizes(const v1::Data& data, const std::string& files_dir) {
  DataSizes sizes;
  ASSIGN_OR_RETURN(sizes.train, ReadSet(data, data.train(), files_dir));
  if (!data.has_test()) return sizes;
  ASSIGN_OR_RETURN(sizes.test, ReadSet(data, data.test(), files_dir));
  if (sizes.test.shape != sizes.train.shape) {
    return absl::InvalidArgumentError(
        fmt::format("the inputs of data.test ({}) have another shape than those of data.train ({})",
                    data.test().inputs(), data.train().inputs()));
  }
  return sizes;
}

}  // namespace rondo
