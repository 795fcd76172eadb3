#include "server/cli/run_summary.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/status_macros.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/cli/export_model.h"
#include "server/cli/source.h"

namespace rondo::cli {
namespace {

// The seconds by kind are those of all lives, and the time between two is in those of control: so
// is it here, from the first order of the first life on.
double SecondsOf(const v1::Status& status, const std::optional<LaunchSpan>& launch) {
  if (!launch) return status.seconds();
  absl::Time began = launch->began;
  if (status.started_at() > 0) {
    began = std::min(began, absl::UnixEpoch() + absl::Seconds(status.started_at()));
  }
  return absl::ToDoubleSeconds(launch->ended - began);
}

}  // namespace

absl::StatusOr<RunSummary> SummarizeRun(const std::string& state_dir,
                                        const std::optional<LaunchSpan>& launch) {
  const Source source = {.coordinator = "", .state_dir = state_dir};
  RunSummary summary;
  ASSIGN_OR_RETURN(summary.status, LoadStatus(source));
  ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, LoadRounds(source, 0));
  summary.rounds = static_cast<uint64_t>(
      std::count_if(rounds.begin(), rounds.end(), [](const v1::Round& r) { return !r.undone(); }));
  summary.seconds = SecondsOf(summary.status, launch);
  summary.state_dir = state_dir;
  if (!summary.status.checkpoint().empty()) {
    summary.model_path = state_dir + "/model.safetensors";
    RETURN_IF_ERROR(ExportModel(state_dir, std::nullopt, summary.model_path));
  }
  return summary;
}

}  // namespace rondo::cli
