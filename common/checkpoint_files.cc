#include "common/checkpoint_files.h"

#include <fmt/format.h>

#include <filesystem>

namespace rondo {

std::string StateFileName(StateFile file, std::string_view worker) {
  switch (file) {
    case StateFile::kParameters:
      return "params.safetensors";
    case StateFile::kBuffers:
      return "buffers.safetensors";
    case StateFile::kLocal:
      return fmt::format("local-{}.safetensors", worker);
    case StateFile::kPartial:
      return fmt::format("partial-{}.safetensors", worker);
  }
  return "";
}

std::string StepFolder(std::string_view root, uint64_t step) {
  return fmt::format("{}/{}{}", root, kStepFolderPrefix, step);
}

std::string IncomingName(std::string_view worker, Incarnation incarnation) {
  return fmt::format("{}-{:016x}", worker, incarnation.value);
}

std::string SharedCheckpointRoot(std::string_view files_dir, std::string_view shared_dir,
                                 std::string_view job_id) {
  // An absolute path on the right replaces what is on the left.
  return (std::filesystem::path(files_dir) / shared_dir / job_id).string();
}

}  // namespace rondo
