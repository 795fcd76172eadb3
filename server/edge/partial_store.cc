#include "server/edge/partial_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/atomic_file.h"
#include "common/checkpoint_files.h"
#include "common/status_macros.h"
#include "server/edge/numbered_folders.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRoundPrefix = "round-";
constexpr std::string_view kHashSuffix = ".sha256";

std::string FileOf(const std::string& folder, const std::string& worker) {
  return fmt::format("{}/{}", folder, StateFileName(StateFile::kPartial, worker));
}

std::string HashFileOf(const std::string& folder, const std::string& worker) {
  return fs::path(FileOf(folder, worker)).replace_extension(kHashSuffix).string();
}

uint64_t CountHashes(const std::string& folder) {
  uint64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kHashSuffix) ++count;
  }
  return count;
}

// What cannot be deleted costs room and harms nothing.
void DropBelow(const std::string& folder, std::string_view prefix, uint64_t kept) {
  for (const uint64_t number : NumbersIn(folder, prefix)) {
    std::error_code ignored;
    if (number < kept) fs::remove_all(fmt::format("{}/{}{}", folder, prefix, number), ignored);
  }
}

}  // namespace

std::string PartialStore::Folder(uint64_t round, uint64_t step) const {
  return StepFolder(fmt::format("{}/partials/{}{}", root_, kRoundPrefix, round), step);
}

absl::StatusOr<std::unique_ptr<StateUpload>> PartialStore::Begin(const PartialFileId& id,
                                                                 uint64_t size,
                                                                 const std::string& sha256) {
  if (!IsValidWorkerName(id.worker) || !id.round || id.step == 0 || id.members == 0) {
    return absl::InvalidArgumentError(
        fmt::format("a partial of worker '{}', round {}, step {}, of {} members: the name must be "
                    "a worker's, the numbers not 0",
                    id.worker, id.round, id.step, id.members));
  }
  const std::string folder = Folder(id.round.value, id.step);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(fmt::format("cannot make {}: {}", folder, error.message()));
  }
  return StateUpload::Create({FileOf(folder, id.worker), size, sha256},
                             [this, id](const StoredFile& file) { return Arrived(id, file); });
}

absl::Status PartialStore::Arrived(const PartialFileId& id, const StoredFile& file) {
  const std::string folder = Folder(id.round.value, id.step);
  const std::string line = fmt::format("{} {} {} {} {} {}\n", file.size, file.sha256, job_id_,
                                       id.round, id.step, id.worker);
  absl::MutexLock lock(&mutex_);
  AtomicFile hash(HashFileOf(folder, id.worker));
  hash.Append(line.data(), line.size());
  RETURN_IF_ERROR(hash.Commit());
  const std::string rounds = root_ + "/partials";
  DropBelow(rounds, kRoundPrefix, id.round.value);
  if (CountHashes(folder) >= id.members) {
    DropBelow(fmt::format("{}/{}{}", rounds, kRoundPrefix, id.round.value), kStepFolderPrefix,
              id.step);
  }
  return absl::OkStatus();
}

void PartialStore::DropThrough(RoundId round) {
  absl::MutexLock lock(&mutex_);
  DropBelow(root_ + "/partials", kRoundPrefix, round.value + 1);
}

std::optional<uint64_t> PartialStore::NewestOf(RoundId round,
                                               const std::vector<std::string>& workers) const {
  const std::string folder = fmt::format("{}/partials/{}{}", root_, kRoundPrefix, round.value);
  std::vector<uint64_t> steps = NumbersIn(folder, kStepFolderPrefix);
  std::reverse(steps.begin(), steps.end());
  for (const uint64_t step : steps) {
    const bool complete = std::all_of(
        workers.begin(), workers.end(),
        [&](const std::string& worker) { return Read(round.value, step, worker).ok(); });
    if (complete) return step;
  }
  return std::nullopt;
}

absl::StatusOr<StoredFile> PartialStore::Read(uint64_t round, uint64_t step,
                                              const std::string& worker) const {
  const std::string folder = Folder(round, step);
  const std::string path = HashFileOf(folder, worker);
  std::ifstream hash(path);
  if (!hash) return absl::NotFoundError(fmt::format("there is no {}", path));
  StoredFile file{FileOf(folder, worker), 0, ""};
  std::string job, of_worker;
  uint64_t of_round = 0, of_step = 0;
  if (!(hash >> file.size >> file.sha256 >> job >> of_round >> of_step >> of_worker)) {
    return absl::DataLossError(fmt::format("{} is damaged", path));
  }
  if (job == job_id_ && of_round == round && of_step == step && of_worker == worker) return file;
  return absl::DataLossError(
      fmt::format("{} is of worker {}, step {} of round {} of job {}: it was moved there", path,
                  of_worker, of_step, of_round, job));
}

absl::StatusOr<StoredFile> PartialStore::Find(uint64_t step, const std::string& worker) const {
  if (!IsValidWorkerName(worker)) return absl::InvalidArgumentError("not a worker's name");
  std::vector<uint64_t> rounds = NumbersIn(root_ + "/partials", kRoundPrefix);
  std::reverse(rounds.begin(), rounds.end());
  for (const uint64_t round : rounds) {
    absl::StatusOr<StoredFile> file = Read(round, step, worker);
    if (!absl::IsNotFound(file.status())) return file;
  }
  return absl::NotFoundError(
      fmt::format("worker '{}' has no partial of step {} in {}", worker, step, root_));
}

}  // namespace rondo::server
