#include "worker/data/dataset.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace rondo {

absl::StatusOr<std::string> HashDataset(const Dataset& dataset) {
  std::string text;
  for (const std::string& path : dataset.files()) {
    ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(path));
    text += fmt::format("{} {} {}\n", std::filesystem::path(path).filename().string(),
                        identity.size_bytes, identity.sha256);
  }
  return Sha256Hex(text);
}

}  // namespace rondo
