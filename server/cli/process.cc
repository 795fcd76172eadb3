#include "server/cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <utility>

#include "absl/status/status.h"

namespace rondo::cli {
namespace {

std::string_view ExitCodeWords(int code) {
  switch (code) {
    case 0:
      return "done";
    case 1:
      return "stopped by a fault";
    case 2:
      return "wrong usage or job file";
    case 3:
      return "refused";
    case 4:
      return "coordinator away for longer than allowed";
    case 5:
      return "left before the end";
    case 70:
      return "internal error";
    case 127:
      return "could not be started";
  }
  return "unknown";
}

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void BecomeProgram(char* const* argv, int log_fd, pid_t launcher) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have died before prctl took effect.
  if (getppid() != launcher) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0) _exit(127);
  if (null_fd > 2) close(null_fd);
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

std::string ProcessEnd::Text() const {
  if (signalled) return fmt::format("killed by signal {} ({})", number, strsignal(number));
  return fmt::format("exit code {} ({})", number, ExitCodeWords(number));
}

absl::StatusOr<Process> Process::Start(ProcessSpec spec) {
  if (access(spec.argv[0].c_str(), X_OK) != 0) {
    return absl::NotFoundError(fmt::format("cannot run {}: {}", spec.argv[0], strerror(errno)));
  }
  const int log_fd = open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) {
    return absl::FailedPreconditionError(fmt::format(
        "cannot write the log {}: {}; choose a writable --state", spec.log_path, strerror(errno)));
  }
  const int64_t log_begin = lseek(log_fd, 0, SEEK_END);
  std::vector<char*> argv;
  for (std::string& argument : spec.argv) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeProgram(argv.data(), log_fd, launcher);
  const int fork_errno = errno;
  close(log_fd);
  if (pid < 0) {
    return absl::InternalError(
        fmt::format("cannot start {}: fork: {}", spec.name, strerror(fork_errno)));
  }
  return Process(std::move(spec), std::max<int64_t>(log_begin, 0), pid);
}

Process::Process(Process&& other) noexcept
    : spec_(std::move(other.spec_)),
      log_begin_(other.log_begin_),
      pid_(std::exchange(other.pid_, -1)),
      end_(std::move(other.end_)) {}

Process::~Process() {
  if (pid_ < 0 || end_.has_value()) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Process::Signal(int signal_number) {
  // Not yet reaped, so the number is still this child's.
  if (!end_.has_value()) kill(pid_, signal_number);
}

bool Process::Poll() {
  if (end_.has_value()) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  end_ = WIFSIGNALED(status) ? ProcessEnd{true, WTERMSIG(status)}
                             : ProcessEnd{false, WEXITSTATUS(status)};
  return true;
}

std::string Process::LastLines(int count) const {
  return cli::LastLines(spec_.log_path, count, log_begin_);
}

std::string LastLines(const std::string& path, int count, int64_t begin) {
  std::ifstream file(path);
  file.seekg(begin);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (static_cast<int>(lines.size()) > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace rondo::cli
