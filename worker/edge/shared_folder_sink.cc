#include "worker/edge/shared_folder_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "common/checkpoint_files.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace rondo::worker {
namespace {

namespace fs = std::filesystem;

// Never the job's folder itself: where that is missing its file system is not mounted.
void MakeFolder(const std::string& root, const std::string& folder, std::error_code* error) {
  if (fs::is_directory(root, *error)) {
    fs::create_directories(folder, *error);
  } else if (!*error) {
    *error = std::make_error_code(std::errc::no_such_file_or_directory);
  }
}

// A rename is durable once its folder is.
absl::Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) close(fd);
  if (synced) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(why)));
}

}  // namespace

std::string SharedFolderSink::TemporaryPath(StateFile file) {
  const std::string folder = fmt::format("{}/{}/{}", options_.root(), kIncomingFolder,
                                         IncomingName(options_.worker, options_.incarnation));
  std::error_code ignored;  // Writing the file says what is wrong.
  MakeFolder(options_.root(), folder, &ignored);
  return folder + "/" + StateFileName(file, options_.worker);
}

absl::Status SharedFolderSink::PutPartial(const PartialId&, const std::string&, const StopCheck&) {
  return absl::UnimplementedError("partials go through the coordinator");
}

absl::StatusOr<SavedFile> SharedFolderSink::Put(uint64_t step, StateFile file,
                                                const std::string& path, const StopCheck&) {
  ASSIGN_OR_RETURN(std::string sha256, Sha256HexOfFile(path));
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  const std::string folder = StepFolder(options_.root(), step);
  if (!error) MakeFolder(options_.root(), folder, &error);
  if (!error) fs::rename(path, folder + "/" + StateFileName(file, options_.worker), error);
  if (error) {
    return absl::UnavailableError(
        fmt::format("{} cannot be put into {}: {}", path, folder, error.message()));
  }
  RETURN_IF_ERROR(SyncFolder(folder));
  RETURN_IF_ERROR(SyncFolder(options_.root()));
  fs::remove(fs::path(path).parent_path(), error);  // If it is empty.
  return SavedFile{file, size, std::move(sha256)};
}

}  // namespace rondo::worker
