#include "worker/data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/data/mapped_file.h"

namespace rondo {
namespace {

// One IDX file: its dimensions and where its data begins.
struct IdxFile {
  MappedFile file;
  std::vector<int64_t> shape;
  const uint8_t* data;
};

uint32_t BigEndian(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         uint32_t{bytes[at + 3]};
}

absl::StatusOr<IdxFile> OpenIdx(const std::string& path, uint32_t dimensions, const char* what) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  const std::span<const uint8_t> bytes = file.bytes();
  const size_t header = 4 + 4 * size_t{dimensions};
  const uint32_t magic = 0x0800 | dimensions;
  if (bytes.size() < 4 || BigEndian(bytes, 0) != magic)
    return absl::InvalidArgumentError(fmt::format(
        "{} is not an IDX file of {}: it begins with 0x{:08x}, expected the magic number 0x{:08x}",
        path, what, bytes.size() < 4 ? 0 : BigEndian(bytes, 0), magic));
  if (bytes.size() < header)
    return absl::InvalidArgumentError(fmt::format(
        "{} is truncated: {} bytes, its header alone has {}", path, bytes.size(), header));
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    shape.push_back(BigEndian(bytes, 4 + 4 * size_t{i}));
    if (shape.back() == 0 || __builtin_mul_overflow(elements, shape.back(), &elements))
      return absl::InvalidArgumentError(
          fmt::format("{} says its dimensions are [{}]...: each must be at least 1 and their "
                      "product must fit in "
                      "63 bits",
                      path, fmt::join(shape, ", ")));
  }
  const auto data_bytes = static_cast<int64_t>(bytes.size() - header);
  if (data_bytes != elements)
    return absl::InvalidArgumentError(
        fmt::format("{} {}: its dimensions [{}] need {} bytes of data, it has {}", path,
                    data_bytes < elements ? "is truncated" : "has trailing bytes",
                    fmt::join(shape, ", "), elements, data_bytes));
  const uint8_t* data = bytes.data() + header;
  return IdxFile{std::move(file), std::move(shape), data};
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(IdxFile images, IdxFile labels, double divisor)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        input_shape_({1, images_.shape[1], images_.shape[2]}),
        sample_elements_(images_.shape[1] * images_.shape[2]) {
    for (int pixel = 0; pixel < 256; ++pixel)
      scaled_[pixel] = static_cast<float>(pixel) / static_cast<float>(divisor);
    class_count_ = 1 + *std::max_element(labels_.data, labels_.data + size());
  }

  int64_t size() const override { return images_.shape[0]; }
  const std::vector<int64_t>& input_shape() const override { return input_shape_; }
  const std::vector<int64_t>& target_shape() const override { return target_shape_; }
  ElementType input_type() const override { return ElementType::kFloat32; }
  ElementType target_type() const override { return ElementType::kInt64; }
  int64_t class_count() const override { return class_count_; }
  std::vector<std::string> files() const override {
    return {images_.file.path(), labels_.file.path()};
  }

  void Load(std::span<const int64_t> samples, Batch* batch) const override {
    const auto count = static_cast<int64_t>(samples.size());
    batch->size = count;
    batch->samples.assign(samples.begin(), samples.end());
    batch->inputs.type = ElementType::kFloat32;
    batch->inputs.shape = {count, 1, images_.shape[1], images_.shape[2]};
    batch->inputs.floats.resize(static_cast<size_t>(count * sample_elements_));
    batch->inputs.ints.clear();
    batch->targets.type = ElementType::kInt64;
    batch->targets.shape = {count};
    batch->targets.ints.resize(samples.size());
    batch->targets.floats.clear();
    float* out = batch->inputs.floats.data();
    for (size_t i = 0; i < samples.size(); ++i) {
      const uint8_t* pixels = images_.data + samples[i] * sample_elements_;
      for (int64_t p = 0; p < sample_elements_; ++p) *out++ = scaled_[pixels[p]];
      batch->targets.ints[i] = labels_.data[samples[i]];
    }
  }

 private:
  const IdxFile images_;
  const IdxFile labels_;
  const std::vector<int64_t> input_shape_;
  const std::vector<int64_t> target_shape_;
  const int64_t sample_elements_;
  int64_t class_count_ = 0;
  float scaled_[256];  // pixel / divisor
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenIdxDataset(const std::string& images,
                                                        const std::string& labels, double divisor) {
  if (!(divisor > 0) || !std::isfinite(divisor))
    return absl::InvalidArgumentError(
        fmt::format("data.divisor is {}, expected a positive number", divisor));
  ASSIGN_OR_RETURN(IdxFile image_file, OpenIdx(images, 3, "images"));
  ASSIGN_OR_RETURN(IdxFile label_file, OpenIdx(labels, 1, "labels"));
  if (image_file.shape[0] != label_file.shape[0])
    return absl::InvalidArgumentError(
        fmt::format("{} has {} images, but {} has {} labels: the counts must be equal", images,
                    image_file.shape[0], labels, label_file.shape[0]));
  return std::make_unique<IdxDataset>(std::move(image_file), std::move(label_file), divisor);
}

}  // namespace rondo
