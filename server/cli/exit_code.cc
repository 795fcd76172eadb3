#include "server/cli/exit_code.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace rondo::cli {

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (absl::IsInvalidArgument(status) || absl::IsNotFound(status)) return kExitUsage;
  if (absl::IsFailedPrecondition(status)) return kExitRefused;
  if (absl::IsUnavailable(status)) return kExitAway;
  if (absl::IsInternal(status)) return kExitInternal;
  return kExitFault;
}

int ReportStatus(const absl::Status& status) {
  if (!status.ok()) {
    const std::string_view text(status.message().data(), status.message().size());
    fmt::print(stderr, "rondo: {}\n", text);
  }
  return ExitCodeOf(status);
}

}  // namespace rondo::cli
