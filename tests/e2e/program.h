// Programs of Rondo as a test runs them: real processes, their output in files, ends awaited
// without sleeping. Failures of the harness itself end the test program with a message.
#ifndef RONDO_TESTS_E2E_PROGRAM_H_
#define RONDO_TESTS_E2E_PROGRAM_H_

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace rondo::e2e {

// No program of these tests takes so long on a working machine; past it the test fails.
inline constexpr absl::Duration kPatience = absl::Seconds(240);

struct Ended {
  int exit_code = 0;  // Minus the signal when one killed it.
  std::string out;
  std::string err;
  bool timed_out = false;  // It was killed here.
};

// For failure messages.
std::ostream& operator<<(std::ostream& out, const Ended& ended);

// A running child. Threads: one. Destroying it kills the child.
class Program {
 public:
  // argv[0] is a path. `folder`: the working directory; empty: this process's.
  explicit Program(const std::vector<std::string>& argv, const std::string& folder = "");
  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();

  pid_t pid() const { return pid_; }
  // Where its standard error goes.
  const std::string& log_path() const { return err_path_; }
  void Signal(int signal_number) const;
  // Blocks until the child has ended.
  Ended Wait(absl::Duration limit = kPatience);
  // Blocks until standard output has a line that contains `text`, and returns the first such; empty
  // when the child ends, or `limit` passes, without one.
  std::string WaitForLine(const std::string& text, absl::Duration limit = kPatience) {
    return WaitForLineOf(out_path_, text, limit);
  }
  // The same for standard error, where programs write their log.
  std::string WaitForLogLine(const std::string& text, absl::Duration limit = kPatience) {
    return WaitForLineOf(err_path_, text, limit);
  }
  // Blocks until the file is there, in a folder that exists; false when the child ends, or `limit`
  // passes, without it.
  bool WaitForFile(const std::string& path, absl::Duration limit = kPatience);

 private:
  // Blocks until `done` says so, which is asked at first and after each change of `watched`; false
  // when the child ends, or `limit` passes, before.
  bool WaitUntil(const std::string& watched, absl::Duration limit,
                 const std::function<bool()>& done);
  std::string WaitForLineOf(const std::string& path, const std::string& text, absl::Duration limit);
  bool Running() const;

  std::string out_path_;
  std::string err_path_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;  // Readable once the child has ended.
};

Ended RunToEnd(const std::vector<std::string>& argv, const std::string& folder = "",
               absl::Duration limit = kPatience);

// Path of a file in the tests' runfiles, "server/rondo" for example.
std::string Runfile(const std::string& path);

// argv of `rondo VERB...` that finds the other programs in the runfiles; `run` only.
std::vector<std::string> RondoRun(const std::string& job_path, int workers,
                                  const std::string& state_dir);
std::vector<std::string> Rondo(std::vector<std::string> arguments);

// A new empty folder below the test's temporary one.
std::string NewFolder(const std::string& name);
void CopyInto(const std::string& runfile, const std::string& folder);
void WriteFile(const std::string& path, const std::string& bytes);
std::string ReadFile(const std::string& path);

// One JSON value a line; lines that are none end the test program.
std::vector<nlohmann::json> JsonLines(const std::string& text);

// Children of `pid`, in the order of their start.
std::vector<pid_t> ChildrenOf(pid_t pid);
// The child of `pid` whose command line has `argument`; -1: none.
pid_t ChildWith(pid_t pid, const std::string& argument);

// A process that is not our child: tells when it is gone.
class Watched {
 public:
  explicit Watched(pid_t pid);
  Watched(Watched&& other) noexcept;
  ~Watched();
  bool GoneWithin(absl::Duration limit) const;

 private:
  int fd_ = -1;
};

}  // namespace rondo::e2e

#endif  // RONDO_TESTS_E2E_PROGRAM_H_
