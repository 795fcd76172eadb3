#include "server/edge/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "common/checkpoint_files.h"
#include "common/ids.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "server/edge/checkpoint_inspection.h"
#include "server/edge/numbered_folders.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string_view KindName(StateFile file) {
  switch (file) {
    case StateFile::kParameters:
      return "parameters";
    case StateFile::kBuffers:
      return "buffers";
    case StateFile::kLocal:
      return "local";
    case StateFile::kPartial:
      return "partial";
  }
  return "unknown";
}

std::vector<uint64_t> StepsIn(const std::string& root) {
  return NumbersIn(root, kStepFolderPrefix);
}

// Discarded, as nlohmann calls it, if it cannot be parsed. Errors: those of ReadManifestFile.
absl::StatusOr<nlohmann::json> ReadManifest(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadManifestFile(fmt::format("{}/{}", folder, kManifestFile)));
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Those of AtomicFile.
void DropTemporaries(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool temporary = it->path().filename().string().find(".tmp.") != std::string::npos;
    if (temporary) fs::remove(it->path(), ignored);
  }
}

ordered_json EncodeLedger(const LedgerState& ledger) {
  ordered_json returned = ordered_json::array();
  for (const SampleRun& run : ledger.returned) {
    returned.push_back({{"epoch", run.epoch},
                        {"first", run.first},
                        {"count", run.count},
                        {"stride", run.stride},
                        {"steps", run.steps},
                        {"advance", run.advance},
                        {"same_steps", run.same_steps}});
  }
  return {{"epoch", ledger.epoch},
          {"position", ledger.position},
          {"returned", returned},
          {"samples_used", ledger.samples_used},
          {"samples_dropped", ledger.samples_dropped}};
}

// Errors: InvalidArgument if no checkpoint has such a file.
absl::StatusOr<std::string> FileName(StateFile file, const std::string& worker) {
  if (file == StateFile::kPartial) {
    return absl::InvalidArgumentError("a checkpoint has no file of this kind");
  }
  if (file == StateFile::kLocal && !IsValidWorkerName(worker)) {
    return absl::InvalidArgumentError(
        "a local state file needs its worker's name: 1 to 63 of A-Z, a-z, 0-9, '.', '_', '-'");
  }
  return StateFileName(file, worker);
}

}  // namespace

CheckpointStore::CheckpointStore(std::string root, std::string job_id, uint64_t keep)
    : partials_(root, job_id),
      root_(std::move(root)),
      job_id_(std::move(job_id)),
      keep_(std::max<uint64_t>(keep, 1)) {
  for (const uint64_t step : StepsIn(root_)) DropTemporaries(StepFolder(step));
}

CheckpointStore::~CheckpointStore() = default;

std::string CheckpointStore::StepFolder(uint64_t step) const {
  return rondo::StepFolder(root_, step);
}

absl::StatusOr<std::unique_ptr<StateUpload>> CheckpointStore::Begin(const StateFileId& id,
                                                                    uint64_t size,
                                                                    const std::string& sha256) {
  ASSIGN_OR_RETURN(const std::string name, FileName(id.file, id.worker));
  const std::string folder = StepFolder(id.step);
  std::error_code error;
  if (fs::exists(fmt::format("{}/{}", folder, kManifestFile), error)) {
    const absl::StatusOr<StoredFile> stored = Find(id);
    if (!stored.ok() || stored->sha256 != sha256) {
      return absl::FailedPreconditionError(
          fmt::format("the checkpoint of step {} is complete, {} in it does not change any more",
                      id.step, name));
    }
  }
  fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(fmt::format("cannot make {}: {}", folder, error.message()));
  }
  return StateUpload::Create({fmt::format("{}/{}", folder, name), size, sha256},
                             [this](const StoredFile& file) {
                               Arrived(file);
                               return absl::OkStatus();
                             });
}

void CheckpointStore::Arrived(const StoredFile& file) {
  absl::MutexLock lock(&mutex_);
  arrived_[file.path] = file;
}

absl::Status CheckpointStore::Complete(const CompleteCheckpoint& request) {
  ordered_json files = ordered_json::array();
  for (const CompleteCheckpoint::Part& part : request.parts) {
    ASSIGN_OR_RETURN(const std::string name, FileName(part.file.file, part.worker));
    const std::string path = fmt::format("{}/{}", StepFolder(request.step), name);
    RETURN_IF_ERROR(CheckPart(path, part));
    files.push_back({{"name", name},
                     {"kind", KindName(part.file.file)},
                     {"worker", part.worker},
                     {"size", part.file.size},
                     {"sha256", part.file.sha256}});
  }
  const ordered_json manifest = {{"job", job_id_},
                                 {"step", request.step},
                                 {"round", request.round.value},
                                 {"state_hash", fmt::format("{:016x}", request.state_hash)},
                                 {"ledger", EncodeLedger(request.ledger)},
                                 {"files", files}};
  const std::string text = manifest.dump(2) + "\n";
  AtomicFile file(fmt::format("{}/{}", StepFolder(request.step), kManifestFile));
  file.Append(text.data(), text.size());
  RETURN_IF_ERROR(file.Commit());
  partials_.DropThrough(request.round);
  return absl::OkStatus();
}

absl::Status CheckpointStore::CheckPart(const std::string& path,
                                        const CompleteCheckpoint::Part& part) {
  StoredFile stored;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = arrived_.find(path);
    if (found != arrived_.end()) stored = found->second;
  }
  std::error_code error;
  if (stored.path.empty() && fs::is_regular_file(path, error)) {  // Not by way of us.
    stored.size = fs::file_size(path, error);
    ASSIGN_OR_RETURN(stored.sha256, Sha256HexOfFile(path));
  }
  if (!error && stored.size == part.file.size && stored.sha256 == part.file.sha256) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "{} of worker '{}' with {} bytes and SHA-256 {} has not arrived; is checkpoint.shared_dir, "
      "if the job has one, the same folder for all?",
      path, part.worker, part.file.size, part.file.sha256));
}

void CheckpointStore::Trim(uint64_t newest) {
  absl::StatusOr<std::vector<uint64_t>> complete_steps = ListComplete();
  if (!complete_steps.ok()) return;  // What cannot be seen may be what is to be kept.
  std::vector<uint64_t>& good = *complete_steps;
  const auto later = std::upper_bound(good.begin(), good.end(), newest);
  std::for_each(later, good.end(), [this](uint64_t step) { Drop(step); });
  good.erase(later, good.end());
  if (good.empty()) return;
  const uint64_t oldest_kept = good[good.size() - std::min<size_t>(keep_, good.size())];
  for (const uint64_t step : StepsIn(root_)) {
    const bool complete = std::binary_search(good.begin(), good.end(), step);
    // An incomplete one above the newest may be on its way in.
    if (step < (complete ? oldest_kept : good.back())) Drop(step);
  }
}

void CheckpointStore::DropLeftovers(const std::vector<std::pair<std::string, Incarnation>>& alive) {
  std::set<std::string> kept;
  for (const auto& [worker, incarnation] : alive) kept.insert(IncomingName(worker, incarnation));
  std::error_code error;
  const std::string incoming = fmt::format("{}/{}", root_, kIncomingFolder);
  for (fs::directory_iterator it(incoming, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!kept.contains(it->path().filename().string())) fs::remove_all(it->path(), ignored);
  }
}

void CheckpointStore::Drop(uint64_t step) {
  const std::string folder = StepFolder(step);
  std::error_code error;  // What cannot be deleted costs room and harms nothing.
  fs::remove(fmt::format("{}/{}", folder, kManifestFile), error);
  fs::remove_all(folder, error);
  absl::MutexLock lock(&mutex_);
  const std::string prefix = folder + "/";
  for (auto it = arrived_.lower_bound(prefix);
       it != arrived_.end() && it->first.rfind(prefix, 0) == 0;) {
    it = arrived_.erase(it);
  }
}

std::vector<uint64_t> CheckpointStore::CompleteSteps() const {
  return ListComplete().value_or(std::vector<uint64_t>{});
}

absl::StatusOr<std::vector<uint64_t>> CheckpointStore::ListComplete() const {
  RETURN_IF_ERROR(CheckReachable(root_));
  std::vector<uint64_t> complete;
  for (const uint64_t step : StepsIn(root_)) {
    const std::string path = fmt::format("{}/{}", StepFolder(step), kManifestFile);
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_regular_file(status)) {
      complete.push_back(step);
    } else if (status.type() != fs::file_type::not_found && error) {
      return absl::UnavailableError(fmt::format("{}: {}", path, error.message()));
    }
  }
  return complete;
}

CheckpointFound CheckpointStore::Look(const LookForCheckpoint& request) const {
  return InspectCheckpoint(root_, job_id_, request);
}

absl::Status CheckpointStore::CheckBelong(RoundId last_round) const {
  for (const uint64_t step : CompleteSteps()) {
    const std::string folder = StepFolder(step);
    const auto read = ReadManifest(folder);
    if (!read.ok()) continue;  // Whoever wants it is told.
    const nlohmann::json& manifest = *read;
    const bool readable = manifest.is_object() && manifest.contains("job") &&
                          manifest["job"].is_string() && manifest.contains("round") &&
                          manifest["round"].is_number_unsigned();
    if (!readable) continue;
    if (const std::string job = manifest["job"].get<std::string>(); job != job_id_) {
      return absl::FailedPreconditionError(fmt::format(
          "{} is a checkpoint of another job, {}: use another --state directory for this "
          "one, or move the checkpoint away",
          folder, job));
    }
    if (const auto round = manifest["round"].get<uint64_t>(); round > last_round.value) {
      return absl::FailedPreconditionError(fmt::format(
          "{} was made after round {}, but the journal beside it ends with round {}: newer records "
          "are missing. Put journal.db back together with its journal.db-wal, or, to train again "
          "from there, move that checkpoint away",
          folder, round, last_round.value));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredFile> CheckpointStore::Find(const StateFileId& id) const {
  ASSIGN_OR_RETURN(const std::string name, FileName(id.file, id.worker));
  const absl::StatusOr<std::vector<uint64_t>> listed = ListComplete();
  if (!listed.ok() || listed->empty()) {
    return absl::NotFoundError(
        fmt::format("there is no complete checkpoint in {}{}", root_,
                    listed.ok() ? " yet" : ": " + std::string(listed.status().message())));
  }
  const std::vector<uint64_t>& complete = *listed;
  const uint64_t step = id.step == 0 ? complete.back() : id.step;
  if (!std::binary_search(complete.begin(), complete.end(), step)) {
    return absl::NotFoundError(
        fmt::format("there is no complete checkpoint of step {} in {}; there are those of steps {}",
                    step, root_, fmt::join(complete, ", ")));
  }
  const std::string path = fmt::format("{}/{}", StepFolder(step), kManifestFile);
  const absl::StatusOr<nlohmann::json> read = ReadManifest(StepFolder(step));
  if (!read.ok()) return absl::NotFoundError(read.status().message());
  const nlohmann::json& manifest = *read;
  try {
    for (const auto& file : manifest.at("files")) {
      if (file.at("name").get<std::string>() != name) continue;
      return StoredFile{fmt::format("{}/{}", StepFolder(step), name),
                        file.at("size").get<uint64_t>(), file.at("sha256").get<std::string>()};
    }
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(fmt::format("{} is damaged: {}", path, error.what()));
  }
  return absl::NotFoundError(fmt::format("the checkpoint of step {} has no {}", step, name));
}

}  // namespace rondo::server
