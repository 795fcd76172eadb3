#include "server/edge/state_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/job/job_text.h"
#include "common/status_macros.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"

namespace rondo::server {
namespace {

std::string Because(const EndRecord& end) {
  return end.reason.empty() ? "" : fmt::format(" ({})", end.reason);
}

FormerRun Describe(const std::string& path, const std::string& job_id, const EndRecord& end,
                   uint64_t steps) {
  constexpr std::string_view kAnother = "use another --state directory";
  const std::string left = fmt::format("at step {} of {}{}; this version cannot continue it; {}",
                                       end.step, steps, Because(end), kAnother);
  switch (end.state) {
    case EndState::kDone:
      return {FormerRun::Kind::kDone,
              fmt::format("job {} has ended (done) after {} steps; nothing is left to do in {}; {} "
                          "to run it again",
                          job_id, end.step, path, kAnother)};
    case EndState::kStopped:
      return {FormerRun::Kind::kStopped, fmt::format("job {} was stopped {}", job_id, left)};
    case EndState::kFailed:
      return {FormerRun::Kind::kFailed, fmt::format("job {} failed {}", job_id, left)};
  }
  return {};
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

absl::StatusOr<FormerRun> ExamineFormerRun(const StateDir& dir, const v1::Job& job) {
  const std::string path = dir.journal_path();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return FormerRun{};
  ASSIGN_OR_RETURN(const std::unique_ptr<JournalReader> journal, JournalReader::Open(path));
  RETURN_IF_ERROR(journal->Check());
  ASSIGN_OR_RETURN(const v1::Job frozen, journal->Job());
  if (const std::vector<std::string> keys = DifferingKeys(frozen, job); !keys.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} belongs to job {}, whose job file was another one: these keys differ: {}; use another "
        "--state directory, or the former job file",
        path, frozen.id(), fmt::join(keys, ", ")));
  }
  ASSIGN_OR_RETURN(const std::optional<EndRecord> end, journal->End());
  if (!end) {
    return absl::FailedPreconditionError(fmt::format(
        "{} belongs to a run of job {} that has not ended, and this version cannot resume a run; "
        "start anew with another --state directory",
        path, frozen.id()));
  }
  ASSIGN_OR_RETURN(const std::optional<ReferenceRecord> reference, journal->Reference());
  const uint64_t steps =
      reference ? reference->total_steps : static_cast<uint64_t>(frozen.resolved().steps());
  return Describe(path, frozen.id(), *end, steps);
}

}  // namespace rondo::server
