// What the launcher waits for: signals (its own and those of its children) and changes in a folder.
#ifndef RONDO_SERVER_CLI_LAUNCH_EVENTS_H_
#define RONDO_SERVER_CLI_LAUNCH_EVENTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rondo::cli {

struct LaunchEvent {
  int stop_signal = 0;         // SIGINT, SIGTERM or SIGHUP came; 0: none.
  bool child_changed = false;  // SIGCHLD came: some child may have ended.
  bool folder_changed = false;
};

// Blocks those signals in the calling thread, and so in every thread it makes later: construct it
// before any. Threads: one.
class LaunchEvents {
 public:
  // Watches `folder`, which must exist.
  static absl::StatusOr<std::unique_ptr<LaunchEvents>> Create(const std::string& folder);
  LaunchEvents(const LaunchEvents&) = delete;
  LaunchEvents& operator=(const LaunchEvents&) = delete;
  ~LaunchEvents();

  // Returns at the first event, all that are pending together; after `limit` with none set.
  LaunchEvent Wait(absl::Duration limit);

 private:
  LaunchEvents(int signal_fd, int folder_fd) : signal_fd_(signal_fd), folder_fd_(folder_fd) {}

  const int signal_fd_;
  const int folder_fd_;
};

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_LAUNCH_EVENTS_H_
