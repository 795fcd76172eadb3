#include "common/checkpoint_files.h"

#include <fmt/format.h>

#include <filesystem>

namespace rondo {

std::string LocalStateFile(std::string_view worker) {
  return fmt::format("local-{}.safetensors", worker);
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
