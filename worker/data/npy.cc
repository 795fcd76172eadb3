#include "worker/data/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/data/mapped_file.h"

namespace rondo {
namespace {

enum class NpyType { kFloat32, kInt64, kUint8 };

int64_t BytesOf(NpyType type) {
  switch (type) {
    case NpyType::kFloat32:
      return 4;
    case NpyType::kInt64:
      return 8;
    case NpyType::kUint8:
      return 1;
  }
  return 0;
}

struct NpyArray {
  MappedFile file;
  NpyType type;
  std::vector<int64_t> row_shape;
  int64_t rows;
  int64_t row_elements;
  const uint8_t* data;  // aligned for no type: elements are copied out
};

absl::StatusOr<NpyType> ParseType(const std::string& descr) {
  if (descr == "<f4") return NpyType::kFloat32;
  if (descr == "<i8") return NpyType::kInt64;
  if (descr == "|u1" || descr == "<u1" || descr == "u1") return NpyType::kUint8;
  return absl::InvalidArgumentError(fmt::format(
      "its element type is '{}', expected little-endian float32 ('<f4'), int64 ('<i8') or uint8 "
      "('|u1'); convert it with numpy's astype",
      descr));
}

absl::StatusOr<NpyArray> ParseArray(MappedFile file) {
  const std::span<const uint8_t> bytes = file.bytes();
  ASSIGN_OR_RETURN(const NpyHeader header,
                   ParseNpyHeader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  ASSIGN_OR_RETURN(const NpyType type, ParseType(header.descr));
  if (header.fortran_order)
    return absl::InvalidArgumentError(
        "it is in Fortran order, expected C order; save numpy.ascontiguousarray(array)");
  if (header.shape.empty())
    return absl::InvalidArgumentError("it holds a single number, expected one row a sample");
  int64_t needed = BytesOf(type);
  for (const int64_t extent : header.shape) {
    if (extent == 0 || __builtin_mul_overflow(needed, extent, &needed))
      return absl::InvalidArgumentError(
          fmt::format("its shape is [{}]: each extent must be at least 1 and the bytes must fit in "
                      "63 bits",
                      fmt::join(header.shape, ", ")));
  }
  const int64_t there = static_cast<int64_t>(bytes.size()) - header.data_start;
  if (there != needed)
    return absl::InvalidArgumentError(
        fmt::format("it {}: shape [{}] needs {} bytes of data, it has {}",
                    there < needed ? "is truncated" : "has trailing bytes",
                    fmt::join(header.shape, ", "), needed, there));
  const uint8_t* data = bytes.data() + header.data_start;
  const int64_t rows = header.shape[0];
  return NpyArray{std::move(file),
                  type,
                  {header.shape.begin() + 1, header.shape.end()},
                  rows,
                  needed / BytesOf(type) / rows,
                  data};
}

absl::StatusOr<NpyArray> OpenArray(const std::string& path) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  absl::StatusOr<NpyArray> array = ParseArray(std::move(file));
  if (array.ok()) return array;
  return absl::Status(array.status().code(),
                      fmt::format("{}: {}", path, std::string(array.status().message())));
}

// Copies rows into `out`; uint8 becomes table[byte].
template <typename T, typename Table>
void CopyRows(const NpyArray& array, std::span<const int64_t> rows, const Table& table,
              std::vector<T>* out) {
  out->resize(rows.size() * static_cast<size_t>(array.row_elements));
  const int64_t row_bytes = array.row_elements * BytesOf(array.type);
  T* to = out->data();
  for (const int64_t row : rows) {
    const uint8_t* from = array.data + row * row_bytes;
    if (array.type == NpyType::kUint8) {
      for (int64_t i = 0; i < array.row_elements; ++i) to[i] = table[from[i]];
    } else {
      std::memcpy(to, from, static_cast<size_t>(row_bytes));
    }
    to += array.row_elements;
  }
}

class NpyDataset final : public Dataset {
 public:
  NpyDataset(NpyArray inputs, NpyArray targets, double divisor)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    for (int i = 0; i < 256; ++i) {
      scaled_[i] = static_cast<float>(i) / static_cast<float>(divisor);
      labels_[i] = i;
    }
  }

  int64_t size() const override { return inputs_.rows; }
  const std::vector<int64_t>& input_shape() const override { return inputs_.row_shape; }
  const std::vector<int64_t>& target_shape() const override { return targets_.row_shape; }
  ElementType input_type() const override {
    return inputs_.type == NpyType::kInt64 ? ElementType::kInt64 : ElementType::kFloat32;
  }
  ElementType target_type() const override {
    return targets_.type == NpyType::kFloat32 ? ElementType::kFloat32 : ElementType::kInt64;
  }
  std::vector<std::string> files() const override {
    return {inputs_.file.path(), targets_.file.path()};
  }

  int64_t class_count() const override {
    std::call_once(classes_once_, [this] { class_count_ = CountClasses(); });
    return class_count_;
  }

  std::optional<NegativeTarget> FirstNegativeTarget() const override {
    if (targets_.type != NpyType::kInt64) return std::nullopt;
    for (int64_t i = 0; i < targets_.rows * targets_.row_elements; ++i) {
      const int64_t value = Target(i);
      if (value < 0) return NegativeTarget{i / targets_.row_elements, value};
    }
    return std::nullopt;
  }

  void Load(std::span<const int64_t> samples, Batch* batch) const override {
    batch->size = static_cast<int64_t>(samples.size());
    batch->samples.assign(samples.begin(), samples.end());
    LoadArray(inputs_, input_type(), samples, &batch->inputs);
    LoadArray(targets_, target_type(), samples, &batch->targets);
  }

 private:
  void LoadArray(const NpyArray& array, ElementType type, std::span<const int64_t> rows,
                 HostArray* out) const {
    out->type = type;
    out->shape = {static_cast<int64_t>(rows.size())};
    out->shape.insert(out->shape.end(), array.row_shape.begin(), array.row_shape.end());
    out->floats.clear();
    out->ints.clear();
    if (type == ElementType::kFloat32) {
      CopyRows(array, rows, scaled_, &out->floats);
    } else {
      CopyRows(array, rows, labels_, &out->ints);
    }
  }

  int64_t CountClasses() const {
    if (target_type() == ElementType::kFloat32) return 0;
    int64_t greatest = -1;
    for (int64_t i = 0; i < targets_.rows * targets_.row_elements; ++i)
      greatest = std::max(greatest, Target(i));
    return greatest + 1;
  }

  // Of integer targets, the i-th element over all rows.
  int64_t Target(int64_t i) const {
    if (targets_.type == NpyType::kUint8) return targets_.data[i];
    int64_t value;
    std::memcpy(&value, targets_.data + 8 * i, 8);
    return value;
  }

  const NpyArray inputs_;
  const NpyArray targets_;
  float scaled_[256];    // byte / divisor
  int64_t labels_[256];  // the byte itself
  mutable std::once_flag classes_once_;
  mutable int64_t class_count_ = 0;  // Written once, under classes_once_.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenNpyDataset(const std::string& inputs,
                                                        const std::string& targets,
                                                        double divisor) {
  if (!(divisor > 0) || !std::isfinite(divisor))
    return absl::InvalidArgumentError(
        fmt::format("data.divisor is {}, expected a positive number", divisor));
  ASSIGN_OR_RETURN(NpyArray input_array, OpenArray(inputs));
  ASSIGN_OR_RETURN(NpyArray target_array, OpenArray(targets));
  if (input_array.rows != target_array.rows)
    return absl::InvalidArgumentError(
        fmt::format("{} has {} rows, but {} has {}: they must have one row a sample each", inputs,
                    input_array.rows, targets, target_array.rows));
  return std::make_unique<NpyDataset>(std::move(input_array), std::move(target_array), divisor);
}

}  // namespace rondo
