#include "server/cli/launch_events.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "absl/status/status.h"

namespace rondo::cli {

absl::StatusOr<std::unique_ptr<LaunchEvents>> LaunchEvents::Create(const std::string& folder) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A reader of our output that goes away must not kill the launcher before its children are told.
  signal(SIGPIPE, SIG_IGN);
  const int signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signal_fd < 0) return absl::InternalError(fmt::format("signalfd: {}", strerror(errno)));
  const int folder_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (folder_fd < 0 ||
      inotify_add_watch(folder_fd, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    const absl::Status status =
        absl::InternalError(fmt::format("cannot watch {}: {}", folder, strerror(errno)));
    close(signal_fd);
    if (folder_fd >= 0) close(folder_fd);
    return status;
  }
  return std::unique_ptr<LaunchEvents>(new LaunchEvents(signal_fd, folder_fd));
}

LaunchEvents::~LaunchEvents() {
  close(signal_fd_);
  close(folder_fd_);
}

LaunchEvent LaunchEvents::Wait(absl::Duration limit) {
  pollfd fds[] = {{signal_fd_, POLLIN, 0}, {folder_fd_, POLLIN, 0}};
  LaunchEvent event;
  if (poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(limit))) <= 0) return event;
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      event.child_changed = true;
    } else {
      event.stop_signal = static_cast<int>(info.ssi_signo);
    }
  }
  alignas(inotify_event) char changes[4096];
  while (read(folder_fd_, changes, sizeof(changes)) > 0) event.folder_changed = true;
  return event;
}

}  // namespace rondo::cli
