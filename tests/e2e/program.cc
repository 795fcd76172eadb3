#include "tests/e2e/program.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/time/clock.h"

namespace rondo::e2e {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Die(const std::string& text) {
  fmt::print(stderr, "test harness: {}\n", text);
  std::abort();
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) Die(fmt::format("{} is not set: run this under bazel test", name));
  return value;
}

int OpenPidFd(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) Die(fmt::format("pidfd_open {}: {}", pid, strerror(errno)));
  return fd;
}

bool ReadableWithin(int fd, absl::Duration limit) {
  pollfd item = {fd, POLLIN, 0};
  return poll(&item, 1, static_cast<int>(absl::ToInt64Milliseconds(limit))) > 0;
}

[[noreturn]] void BecomeProgram(char* const* argv, const char* folder, int out_fd, int err_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (*folder != '\0' && chdir(folder) != 0) _exit(126);
  if (dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0) _exit(126);
  execv(argv[0], argv);
  _exit(127);
}

int CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) Die(fmt::format("{}: {}", path, strerror(errno)));
  return fd;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Ended& ended) {
  return out << fmt::format("exit code {}{}\n--- standard output\n{}--- standard error\n{}",
                            ended.exit_code, ended.timed_out ? ", killed: took too long" : "",
                            ended.out, ended.err);
}

Program::Program(const std::vector<std::string>& argv, const std::string& folder) {
  const std::string output = NewFolder("output");
  out_path_ = output + "/out";
  err_path_ = output + "/err";
  const int out_fd = CreateFile(out_path_);
  const int err_fd = CreateFile(err_path_);
  std::vector<char*> arguments;
  for (const std::string& each : argv) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) BecomeProgram(arguments.data(), folder.c_str(), out_fd, err_fd);
  if (pid_ < 0) Die(fmt::format("fork: {}", strerror(errno)));
  close(out_fd);
  close(err_fd);
  pid_fd_ = OpenPidFd(pid_);
}

Program::Program(Program&& other) noexcept
    : out_path_(std::move(other.out_path_)),
      err_path_(std::move(other.err_path_)),
      pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)) {}

Program::~Program() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(pid_fd_);
}

void Program::Signal(int signal_number) const { kill(pid_, signal_number); }

bool Program::Running() const { return !ReadableWithin(pid_fd_, absl::ZeroDuration()); }

Ended Program::Wait(absl::Duration limit) {
  Ended ended;
  ended.timed_out = !ReadableWithin(pid_fd_, limit);
  if (ended.timed_out) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  close(pid_fd_);
  pid_ = -1;
  ended.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  ended.out = ReadFile(out_path_);
  ended.err = ReadFile(err_path_);
  return ended;
}

bool Program::WaitUntil(const std::string& watched, absl::Duration limit,
                        const std::function<bool()>& done) {
  const absl::Time until = absl::Now() + limit;
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watch < 0 ||
      inotify_add_watch(watch, watched.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
    Die(fmt::format("inotify {}: {}", watched, strerror(errno)));
  }
  bool running = true;
  bool is_done = done();
  while (!is_done && running && absl::Now() < until) {
    pollfd items[] = {{watch, POLLIN, 0}, {pid_fd_, POLLIN, 0}};
    poll(items, 2, static_cast<int>(absl::ToInt64Milliseconds(until - absl::Now())));
    char changes[4096];
    while (read(watch, changes, sizeof(changes)) > 0) {
    }
    running = Running();  // Asked first: what it did before its end is seen.
    is_done = done();
  }
  close(watch);
  return is_done;
}

std::string Program::WaitForLineOf(const std::string& path, const std::string& text,
                                   absl::Duration limit) {
  std::string found;
  WaitUntil(path, limit, [&] {
    std::istringstream lines(ReadFile(path));
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      if (line.find(text) == std::string::npos) continue;
      found = line;
      return true;
    }
    return false;
  });
  return found;
}

bool Program::WaitForFile(const std::string& path, absl::Duration limit) {
  return WaitUntil(fs::path(path).parent_path(), limit, [&] { return fs::exists(path); });
}

Ended RunToEnd(const std::vector<std::string>& argv, const std::string& folder,
               absl::Duration limit) {
  return Program(argv, folder).Wait(limit);
}

std::string Runfile(const std::string& path) {
  return fmt::format("{}/{}/{}", Environment("TEST_SRCDIR"), Environment("TEST_WORKSPACE"), path);
}

std::vector<std::string> Rondo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Runfile("server/rondo"));
  return arguments;
}

std::vector<std::string> RondoRun(const std::string& job_path, int workers,
                                  const std::string& state_dir) {
  return Rondo({"run", job_path, "--workers", fmt::format("{}", workers), "--state", state_dir,
                "--json", "--bin-dir", Runfile("")});
}

std::string NewFolder(const std::string& name) {
  std::string path = fmt::format("{}/{}-XXXXXX", Environment("TEST_TMPDIR"), name);
  if (mkdtemp(path.data()) == nullptr) Die(fmt::format("mkdtemp {}: {}", path, strerror(errno)));
  return path;
}

void CopyInto(const std::string& runfile, const std::string& folder) {
  const fs::path from = Runfile(runfile);
  fs::copy_file(fs::canonical(from), fs::path(folder) / from.filename());
  fs::permissions(fs::path(folder) / from.filename(), fs::perms::owner_write,
                  fs::perm_options::add);
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) Die(fmt::format("cannot write {}", path));
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) Die(fmt::format("this line is not JSON: {}", line));
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::istringstream words(ReadFile(fmt::format("/proc/{}/task/{}/children", pid, pid)));
  std::vector<pid_t> children;
  for (pid_t child; words >> child;) children.push_back(child);
  return children;
}

pid_t ChildWith(pid_t pid, const std::string& argument) {
  for (pid_t child : ChildrenOf(pid)) {
    // Arguments end with a NUL each.
    const std::string line = ReadFile(fmt::format("/proc/{}/cmdline", child));
    if (line.find('\0' + argument + '\0') != std::string::npos) return child;
  }
  return -1;
}

Watched::Watched(pid_t pid) : fd_(OpenPidFd(pid)) {}
Watched::Watched(Watched&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Watched::~Watched() {
  if (fd_ >= 0) close(fd_);
}
bool Watched::GoneWithin(absl::Duration limit) const { return ReadableWithin(fd_, limit); }

}  // namespace rondo::e2e
