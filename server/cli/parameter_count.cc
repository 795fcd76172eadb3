#include "server/cli/parameter_count.h"

#include <filesystem>

#include "common/safetensors.h"
#include "common/status_macros.h"

namespace rondo::cli {
namespace {

int64_t MlpParameters(const v1::Mlp& mlp) {
  int64_t count = 0;
  for (int i = 1; i < mlp.layers_size(); ++i) count += (mlp.layers(i - 1) + 1) * mlp.layers(i);
  return count;
}

// conv 3x3 to 16, pool 2, conv 3x3 to 32, pool 2, linear to ten classes; samples [height, width] or
// [channels, height, width].
std::optional<int64_t> ConvnetParameters(const v1::Resolved& resolved) {
  const int dimensions = resolved.sample_shape_size();
  if (dimensions < 2 || dimensions > 3) return std::nullopt;
  const int64_t channels = dimensions == 3 ? resolved.sample_shape(0) : 1;
  const int64_t pixels =
      (resolved.sample_shape(dimensions - 2) / 4) * (resolved.sample_shape(dimensions - 1) / 4);
  return (9 * channels + 1) * 16 + (9 * 16 + 1) * 32 + (32 * pixels + 1) * 10;
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> CountParameters(const v1::Job& job,
                                                       const std::string& files_dir) {
  if (job.model().has_mlp()) return MlpParameters(job.model().mlp());
  if (job.model().has_convnet()) return ConvnetParameters(job.resolved());
  if (job.model().init().empty()) return std::nullopt;
  const std::string path = (std::filesystem::path(files_dir) / job.model().init()).string();
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  int64_t count = 0;
  for (const SafetensorsEntry& entry : header.entries) count += entry.elements;
  return count;
}

}  // namespace rondo::cli
