// A child process of the launcher, its output in a log file.
#ifndef RONDO_SERVER_CLI_PROCESS_H_
#define RONDO_SERVER_CLI_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace rondo::cli {

struct ProcessSpec {
  std::string name;               // For messages, e.g. "worker-0".
  std::vector<std::string> argv;  // argv[0] is the path of the program.
  std::string log_path;           // Standard output and error go there, appended.
};

// How a process ended.
struct ProcessEnd {
  bool signalled = false;
  int number = 0;  // The signal, else the exit code.

  // "exit code 3 (refused)", "killed by signal 9 (Killed)".
  std::string Text() const;
};

// The child is in a process group of its own, so that a Ctrl-C at the terminal reaches the launcher
// alone, and the kernel kills it when the launcher dies, however that happens.
// Threads: one; the thread that starts a process must live as long as the launcher (the kernel
// watches that thread).
class Process {
 public:
  // Errors: NotFound when the program is not there, Internal when the system refuses.
  static absl::StatusOr<Process> Start(ProcessSpec spec);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) = delete;
  // Kills and reaps a child that is still running.
  ~Process();

  const std::string& name() const { return spec_.name; }
  const std::string& log_path() const { return spec_.log_path; }
  pid_t pid() const { return pid_; }
  // The last `count` lines that this process has written to its log so far.
  std::string LastLines(int count) const;

  // Sends `signal_number` if the child is still running.
  void Signal(int signal_number);
  // Reaps the child if it has ended; never blocks. True when it ends with this call.
  bool Poll();
  // Set once the child is reaped.
  const std::optional<ProcessEnd>& end() const { return end_; }

 private:
  Process(ProcessSpec spec, int64_t log_begin, pid_t pid)
      : spec_(std::move(spec)), log_begin_(log_begin), pid_(pid) {}

  ProcessSpec spec_;
  int64_t log_begin_;  // Bytes that the log had before it.
  pid_t pid_;
  std::optional<ProcessEnd> end_;
};

// The last `count` lines of a file behind its first `begin` bytes, each ended by a newline; empty
// when it cannot be read.
std::string LastLines(const std::string& path, int count, int64_t begin = 0);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PROCESS_H_
