#include "server/edge/checkpoint_inspection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "common/checkpoint_files.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "server/edge/numbered_folders.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Something is wrong with the checkpoint itself; Unavailable says that nothing is known.
absl::Status Damaged(std::string text) { return absl::DataLossError(std::move(text)); }

bool IsAbsent(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

absl::Status CheckFile(const std::string& path, const json& file, bool whole) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error && IsAbsent(error)) return Damaged(fmt::format("{} is missing", path));
  if (error) return absl::UnavailableError(fmt::format("{}: {}", path, error.message()));
  const auto expected = file.at("size").get<uint64_t>();
  if (size != expected) {
    return Damaged(fmt::format("{} has {} bytes, its manifest says {}", path, size, expected));
  }
  if (!whole) return absl::OkStatus();
  const absl::StatusOr<std::string> sha256 = Sha256HexOfFile(path);
  if (!sha256.ok()) return absl::UnavailableError(sha256.status().message());
  if (*sha256 == file.at("sha256").get<std::string>()) return absl::OkStatus();
  return Damaged(fmt::format("{} has not the SHA-256 that its manifest says", path));
}

// Whose state it is, by the manifest.
absl::Status CheckSame(const std::string& path, const json& manifest, const std::string& job_id,
                       const LookForCheckpoint& request) {
  const auto job = manifest.at("job").get<std::string>();
  if (job != job_id) return Damaged(fmt::format("{} is of job {}", path, job));
  const auto round = manifest.at("round").get<uint64_t>();
  const auto hash = manifest.at("state_hash").get<std::string>();
  if (round == request.round.value && hash == fmt::format("{:016x}", request.state_hash)) {
    return absl::OkStatus();
  }
  return Damaged(
      fmt::format("{} is of round {} with state hash {}, the journal's is of round {} "
                  "with {:016x}",
                  path, round, hash, request.round, request.state_hash));
}

absl::Status Inspect(const std::string& root, const std::string& job_id,
                     const LookForCheckpoint& request) {
  RETURN_IF_ERROR(CheckReachable(root));
  const std::vector<uint64_t> steps = NumbersIn(root, kStepFolderPrefix);
  if (steps.empty()) {
    return absl::UnavailableError(fmt::format(
        "{} is there and holds no checkpoint: is something to be mounted there?", root));
  }
  const std::string folder = StepFolder(root, request.step);
  const std::string path = fmt::format("{}/{}", folder, kManifestFile);
  const absl::StatusOr<std::string> text = ReadManifestFile(path);
  if (absl::IsNotFound(text.status())) {
    return Damaged(fmt::format("{} is not there: it is incomplete, or was deleted", path));
  }
  RETURN_IF_ERROR(text.status());
  const json manifest = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    RETURN_IF_ERROR(CheckSame(path, manifest, job_id, request));
    for (const json& file : manifest.at("files")) {
      RETURN_IF_ERROR(CheckFile(fmt::format("{}/{}", folder, file.at("name").get<std::string>()),
                                file, request.whole));
    }
  } catch (const json::exception& error) {
    return Damaged(fmt::format("{} is damaged: {}", path, error.what()));
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointFound InspectCheckpoint(const std::string& root, const std::string& job_id,
                                  const LookForCheckpoint& request) {
  const absl::Status status = Inspect(root, job_id, request);
  CheckpointFound found{request.step, CheckpointCondition::kGood, std::string(status.message())};
  if (absl::IsDataLoss(status)) {
    found.condition = CheckpointCondition::kDamaged;
  } else if (!status.ok()) {
    found.condition = CheckpointCondition::kAway;
  }
  return found;
}

absl::StatusOr<std::string> ReadManifestFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const std::string text = fmt::format("{}: {}", path, std::strerror(errno));
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(text);
    return absl::UnavailableError(text);
  }
  std::string bytes;
  char piece[4096];
  ssize_t got = 0;
  while ((got = read(fd, piece, sizeof(piece))) > 0) bytes.append(piece, static_cast<size_t>(got));
  const int why = errno;
  close(fd);
  if (got == 0) return bytes;
  return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(why)));
}

absl::Status CheckReachable(const std::string& root) {
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("the folder of checkpoints {} cannot be read: {}", root, error.message()));
}

}  // namespace rondo::server
