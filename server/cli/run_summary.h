// What a run has come to, for the end of `rondo run`.
#ifndef RONDO_SERVER_CLI_RUN_SUMMARY_H_
#define RONDO_SERVER_CLI_RUN_SUMMARY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/cli/status_format.h"

namespace rondo::cli {

// One life of the run.
struct LaunchSpan {
  absl::Time began;
  absl::Time ended;
};

// From the journal in `state_dir`, which holds all that counts once the processes are gone; with a
// checkpoint its model is exported to `state_dir`/model.safetensors. `launch` is the last life;
// absent: nothing was trained just now. Errors: NotFound without a journal; those of its reader and
// of ExportModel.
absl::StatusOr<RunSummary> SummarizeRun(const std::string& state_dir,
                                        const std::optional<LaunchSpan>& launch);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_RUN_SUMMARY_H_
