// What the command's exit codes mean, and which one an error leads to.
#ifndef RONDO_SERVER_CLI_EXIT_CODE_H_
#define RONDO_SERVER_CLI_EXIT_CODE_H_

#include "absl/status/status.h"
#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitFault = 1,     // Stopped by a fault.
  kExitUsage = 2,     // Wrong flags or job file.
  kExitRefused = 3,   // A worker is refused for good: other data, other model, other version.
  kExitAway = 4,      // The coordinator is away.
  kExitLeft = 5,      // Left before the end after SIGTERM or Ctrl-C.
  kExitInternal = 70  // A bug in Rondo.
};

// Of a verb that asks a coordinator. OK: 0. InvalidArgument, NotFound, FailedPrecondition: 2.
// Unavailable: 4. Internal: 70. Else: 1.
int ExitCodeOf(const absl::Status& status);
// Of a verb that works on files alone: Unavailable is a fault (1).
int LocalExitCodeOf(const absl::Status& status);

// Of `rondo run`: `launched` is what its processes came to, `state` the job's last one. A job that
// is done is done, whatever became of a process after its last round; an orderly stop is no fault
// of the coordinator's, and yet a job that `stop_requested` ended is not done.
int RunExitCode(int launched, v1::JobState state, bool stop_requested);

// Prints "rondo: <message>" on standard error when `status` is not OK; returns its exit code.
int ReportStatus(const absl::Status& status);
// The same with LocalExitCodeOf.
int ReportLocalStatus(const absl::Status& status);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_EXIT_CODE_H_
