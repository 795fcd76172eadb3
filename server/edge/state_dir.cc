#include "server/edge/state_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/checkpoint_files.h"
#include "common/status_macros.h"
#include "server/core/history.h"
#include "server/core/records.h"

namespace rondo::server {
namespace {

// How the run ended that goes on now; empty: it did not.
std::string EndOf(const History& history) {
  if (!history.end) return "";
  const std::string_view how = history.end->state == EndState::kStopped ? "was stopped" : "failed";
  const std::string& reason = history.end->reason;
  return fmt::format("{}{} and ", how, reason.empty() ? "" : fmt::format(" ({})", reason));
}

void Describe(const std::string& path, FormerRun* run) {
  const std::string& id = run->recovered.job.id();
  const History& history = run->recovered.history;
  if (history.end && history.end->state == EndState::kDone) {
    run->kind = FormerRun::Kind::kDone;
    run->text = fmt::format(
        "job {} has ended (done) after {} steps; nothing is left to do in {}; use another --state "
        "directory to run it again",
        id, history.end->step, path);
    return;
  }
  const uint64_t steps = history.reference
                             ? history.reference->total_steps
                             : static_cast<uint64_t>(run->recovered.job.resolved().steps());
  run->kind = FormerRun::Kind::kOpen;
  run->text = fmt::format("job {} {}goes on at step {} of {}, in term {} of its coordinator", id,
                          EndOf(history), history.committed.step, steps, history.term.Next());
}

}  // namespace

absl::StatusOr<StateDir> StateDir::Lock(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::UnavailableError(
        fmt::format("cannot make the state directory {}: {}", path, error.message()));
  }
  const std::string lock = path + "/lock";
  const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::UnavailableError(fmt::format("cannot open {}: {}", lock, std::strerror(errno)));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return StateDir(path, fd);
  const int why = errno;
  close(fd);
  if (why == EWOULDBLOCK) {
    return absl::FailedPreconditionError(fmt::format(
        "another coordinator runs on the state directory {} (it holds {}); stop it or use another "
        "--state",
        path, lock));
  }
  return absl::UnavailableError(fmt::format("cannot lock {}: {}", lock, std::strerror(why)));
}

bool StateDir::IsHeld(const std::string& path) {
  const int fd = open((path + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

StateDir::StateDir(StateDir&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

StateDir& StateDir::operator=(StateDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

StateDir::~StateDir() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<FormerRun> ExamineFormerRun(const StateDir& dir, const v1::Job& job,
                                           const GivenWorkers& given) {
  const std::string path = dir.journal_path();
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (found.type() == std::filesystem::file_type::not_found) return FormerRun{};
  if (!std::filesystem::is_regular_file(found)) {
    return absl::FailedPreconditionError(
        fmt::format("{} is no file that a coordinator has written{}; use another --state "
                    "directory, or move it away",
                    path, error ? ": " + error.message() : ""));
  }
  FormerRun run;
  ASSIGN_OR_RETURN(run.recovered, RecoverJournal(dir.path()));
  RETURN_IF_ERROR(CheckSameJob(path, run.recovered.job, job, given));
  Describe(path, &run);
  return run;
}

absl::Status LinkSharedCheckpoints(const StateDir& dir, const v1::Job& job,
                                   const std::string& files_dir, bool begins) {
  namespace fs = std::filesystem;
  if (job.checkpoint().shared_dir().empty()) return absl::OkStatus();
  std::error_code error;
  const fs::path root =
      fs::absolute(SharedCheckpointRoot(files_dir, job.checkpoint().shared_dir(), job.id()), error);
  if (!fs::is_directory(root.parent_path(), error)) {
    return absl::FailedPreconditionError(
        fmt::format("checkpoint.shared_dir: {} is no folder that is there; create it, or mount "
                    "what belongs there, and start again",
                    root.parent_path().string()));
  }
  error.clear();
  if (begins) {
    fs::create_directory(root, error);
  } else if (!fs::is_directory(root, error)) {
    return absl::FailedPreconditionError(
        fmt::format("checkpoint.shared_dir: the folder of this run's checkpoints, {}, is not "
                    "there: is {} mounted? Bring it back and start again",
                    root.string(), root.parent_path().string()));
  }
  const std::string link = dir.checkpoints_path();
  if (!error && !fs::exists(fs::symlink_status(link, error))) {
    error.clear();
    fs::create_directory_symlink(root, link, error);
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the folder of checkpoint.shared_dir cannot be used: {}, linked at {}: {}",
                  root.string(), link, error.message()));
}

}  // namespace rondo::server
