#include "common/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/atomic_file.h"
#include "common/file_kind.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int64_t kHeaderBytesMax = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, int64_t> kElementBytes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

// 0 for a type that is not known.
int64_t ElementBytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kElementBytes)
    if (name == dtype) return bytes;
  return 0;
}

absl::Status Bad(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(
      fmt::format("{} is not a valid safetensors file: {}", path, what));
}

absl::StatusOr<int64_t> AsSize(const nlohmann::json& value, const std::string& path,
                               std::string_view name, std::string_view what) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kMax)
    return static_cast<int64_t>(value.get<uint64_t>());
  return Bad(path, fmt::format("tensor '{}': {} has {}, expected integers from 0 up", name, what,
                               value.dump()));
}

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& path, const std::string& name,
                                            const nlohmann::json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets") || !value["dtype"].is_string() ||
      !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2)
    return Bad(path, fmt::format("tensor '{}' needs a dtype, a shape and two data_offsets", name));
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = value["dtype"].get<std::string>();
  const int64_t element_bytes = ElementBytes(entry.dtype);
  if (element_bytes == 0)
    return Bad(path, fmt::format("tensor '{}' has the unknown dtype '{}'", name, entry.dtype));
  entry.elements = 1;
  for (const nlohmann::json& part : value["shape"]) {
    ASSIGN_OR_RETURN(const int64_t extent, AsSize(part, path, name, "shape"));
    entry.shape.push_back(extent);
    if (__builtin_mul_overflow(entry.elements, extent, &entry.elements))
      return Bad(path, fmt::format("tensor '{}' has an impossible shape", name));
  }
  ASSIGN_OR_RETURN(entry.begin, AsSize(value["data_offsets"][0], path, name, "data_offsets"));
  ASSIGN_OR_RETURN(entry.end, AsSize(value["data_offsets"][1], path, name, "data_offsets"));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(entry.elements, element_bytes, &bytes) || entry.end < entry.begin ||
      entry.end - entry.begin != bytes)
    return Bad(path,
               fmt::format("tensor '{}' of dtype {} and shape [{}] does not fill the bytes "
                           "{} to {} that the header gives it",
                           name, entry.dtype, fmt::join(entry.shape, ","), entry.begin, entry.end));
  return entry;
}

absl::Status ParseMetadata(const std::string& path, const nlohmann::json& value,
                           std::map<std::string, std::string>* metadata) {
  if (!value.is_object()) return Bad(path, "__metadata__ must map names to strings");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return Bad(path, "__metadata__ must map names to strings");
    metadata->emplace(key, text.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status CheckExtents(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                          int64_t data_bytes) {
  int64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position)
      return Bad(path,
                 fmt::format("the data of tensor '{}' begins at byte {}, expected {}: data must "
                             "be without holes or overlap",
                             entry.name, entry.begin, position));
    position = entry.end;
  }
  if (position != data_bytes)
    return Bad(path,
               fmt::format("its tensors take {} bytes of data, but {} are there (truncated, or "
                           "trailing bytes)",
                           position, data_bytes));
  return absl::OkStatus();
}

// The JSON text of the header, after checks of its length.
absl::StatusOr<std::string> ReadHeaderText(const std::string& path, int64_t* file_bytes) {
  if (const std::string_view kind = UnusualFileKind(path); !kind.empty()) {
    return absl::InvalidArgumentError(fmt::format("{} is {}, not a file", path, kind));
  }
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory)
    return absl::NotFoundError(fmt::format("{}: there is no such file", path));
  std::ifstream in(path, std::ios::binary);
  if (error || !in)
    return absl::UnavailableError(
        fmt::format("cannot open {}: {}", path, error ? error.message() : std::strerror(errno)));
  *file_bytes = static_cast<int64_t>(size);
  uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  if (!in) return Bad(path, fmt::format("it has {} bytes, expected at least 8", size));
  if (length > static_cast<uint64_t>(kHeaderBytesMax))
    return Bad(
        path, fmt::format("a header of {} bytes, at most {} are allowed", length, kHeaderBytesMax));
  if (8 + length > size)
    return Bad(path,
               fmt::format("a header of {} bytes in a file of {}: it is truncated", length, size));
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  if (!in) return absl::UnavailableError(fmt::format("cannot read {}", path));
  return text;
}

// A callback for nlohmann's parser that notices a key given twice on the top level.
class DuplicateKeys {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1 &&
        !seen_.insert({parsed.get<std::string>(), true}).second)
      duplicate_ = parsed.get<std::string>();
    return true;
  }
  const std::string& duplicate() const { return duplicate_; }

 private:
  std::map<std::string, bool> seen_;
  std::string duplicate_;
};

std::string HeaderText(std::span<const SafetensorsTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       std::vector<int64_t>* sizes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[std::string(kMetadata)] = metadata;
  int64_t position = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    int64_t bytes = SafetensorsTypeBytes(tensor.type);
    for (const int64_t extent : tensor.shape) bytes *= extent;
    sizes->push_back(bytes);
    json[tensor.name] = {{"dtype", SafetensorsTypeName(tensor.type)},
                         {"shape", tensor.shape},
                         {"data_offsets", {position, position + bytes}}};
    position += bytes;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

std::string_view SafetensorsTypeName(SafetensorsType type) {
  switch (type) {
    case SafetensorsType::kF32:
      return "F32";
    case SafetensorsType::kF64:
      return "F64";
    case SafetensorsType::kI64:
      return "I64";
    case SafetensorsType::kU8:
      return "U8";
  }
  return "";
}

int64_t SafetensorsTypeBytes(SafetensorsType type) {
  return ElementBytes(SafetensorsTypeName(type));
}

absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const std::string& path) {
  int64_t file_bytes = 0;
  ASSIGN_OR_RETURN(const std::string text, ReadHeaderText(path, &file_bytes));
  DuplicateKeys keys;
  const nlohmann::json json = nlohmann::json::parse(text, std::ref(keys), false);
  if (!json.is_object()) return Bad(path, "its header is not a JSON object");
  if (!keys.duplicate().empty())
    return Bad(path, fmt::format("its header names '{}' twice", keys.duplicate()));
  SafetensorsHeader header;
  header.data_start = 8 + static_cast<int64_t>(text.size());
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      RETURN_IF_ERROR(ParseMetadata(path, value, &header.metadata));
      continue;
    }
    ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(path, name, value));
    header.entries.push_back(std::move(entry));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  RETURN_IF_ERROR(CheckExtents(path, header.entries, file_bytes - header.data_start));
  return header;
}

absl::Status ReadSafetensorsData(const std::string& path, const SafetensorsHeader& header,
                                 const SafetensorsEntry& entry, SafetensorsType type, void* out) {
  if (entry.dtype != SafetensorsTypeName(type))
    return absl::InvalidArgumentError(fmt::format("{}: tensor '{}' has dtype {}, expected {}", path,
                                                  entry.name, entry.dtype,
                                                  SafetensorsTypeName(type)));
  std::ifstream in(path, std::ios::binary);
  in.seekg(header.data_start + entry.begin);
  in.read(static_cast<char*>(out), entry.end - entry.begin);
  if (!in)
    return absl::UnavailableError(fmt::format("cannot read the {} bytes of tensor '{}' from {}",
                                              entry.end - entry.begin, entry.name, path));
  return absl::OkStatus();
}

absl::Status WriteSafetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::map<std::string_view, bool> names;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.name == kMetadata || !names.insert({tensor.name, true}).second)
      return absl::InvalidArgumentError(
          fmt::format("{}: the tensor name '{}' is reserved or given twice", path, tensor.name));
  }
  std::vector<int64_t> sizes;
  const std::string text = HeaderText(tensors, metadata, &sizes);
  const uint64_t length = text.size();
  AtomicFile file(path);
  file.Append(&length, sizeof length);
  file.Append(text.data(), text.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    file.Append(tensors[i].data, static_cast<size_t>(sizes[i]));
  return file.Commit();
}

}  // namespace rondo
