#include "server/cli/binaries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "common/status_macros.h"

namespace rondo::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> Find(const std::string& name, const std::vector<fs::path>& folders) {
  std::vector<std::string> tried;
  for (const fs::path& folder : folders) {
    const std::string candidate = (folder / name).string();
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
    tried.push_back(candidate);
  }
  return absl::InvalidArgumentError(
      fmt::format("the program {} is not there (looked for {}); build it, or name its folder with "
                  "--bin-dir",
                  name, fmt::join(tried, ", ")));
}

}  // namespace

absl::StatusOr<Binaries> FindBinaries(const std::string& bin_dir) {
  std::vector<fs::path> tops;
  if (bin_dir.empty()) {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
    tops = {own, own.parent_path()};
  } else {
    tops = {fs::path(bin_dir)};
  }
  std::vector<fs::path> folders;
  for (const fs::path& top : tops) {
    for (const fs::path& folder : {top, top / "server", top / "worker"}) folders.push_back(folder);
  }
  Binaries binaries;
  ASSIGN_OR_RETURN(binaries.coordinator, Find("rondo-coordinator", folders));
  ASSIGN_OR_RETURN(binaries.worker, Find("rondo-worker", folders));
  return binaries;
}

}  // namespace rondo::cli
