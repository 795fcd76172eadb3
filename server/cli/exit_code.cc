#include "server/cli/exit_code.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace rondo::cli {
namespace {

void Print(const absl::Status& status) {
  if (status.ok()) return;
  const std::string_view text(status.message().data(), status.message().size());
  fmt::print(stderr, "rondo: {}\n", text);
}

}  // namespace

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
      absl::IsFailedPrecondition(status)) {
    return kExitUsage;
  }
  if (absl::IsUnavailable(status)) return kExitAway;
  if (absl::IsInternal(status)) return kExitInternal;
  return kExitFault;
}

int LocalExitCodeOf(const absl::Status& status) {
  const int code = ExitCodeOf(status);
  return code == kExitAway ? kExitFault : code;
}

int RunExitCode(int launched, v1::JobState state, bool stop_requested) {
  if (state == v1::JOB_STATE_DONE) return kExitDone;
  const bool stopped = state == v1::JOB_STATE_STOPPED && stop_requested;
  return stopped && launched == kExitDone ? kExitLeft : launched;
}

int ReportStatus(const absl::Status& status) {
  Print(status);
  return ExitCodeOf(status);
}

int ReportLocalStatus(const absl::Status& status) {
  Print(status);
  return LocalExitCodeOf(status);
}

}  // namespace rondo::cli
