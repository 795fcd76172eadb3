#include "server/cli/stop.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/source.h"
#include "server/cli/status_format.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  std::string reason;
  bool json = false;
};

// What there is to stop has ended already: fine, unless it failed.
int ReportEnded(const Options& options, const v1::Status& ended) {
  const std::string state = StateName(ended.state());
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"stopping", false}, {"state", state}}.dump());
  } else {
    fmt::print("job {} has ended ({})\n", ended.job_id(), state);
  }
  return ended.state() == v1::JOB_STATE_FAILED ? kExitFault : kExitDone;
}

absl::StatusOr<int> Stop(const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<v1::Status> ended, LoadEnded(options.source));
  if (ended) return ReportEnded(options, *ended);
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(fmt::format(
        "the coordinator of {} does not listen yet, or no longer", options.source.state_dir));
  }
  ASSIGN_OR_RETURN(const Steered answer, JobsClient(address).StopJob(options.reason));
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"stopping", !answer.done}, {"step", answer.step}, {"text", answer.text}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}\n", answer.text);
  }
  return kExitDone;
}

}  // namespace

void AddStopVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("stop", "Ends a job at its next border, with a checkpoint");
  AddSourceFlags(*verb, options->source);
  verb->add_option("--reason", options->reason, "Words for the job's history");
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] {
    const absl::StatusOr<int> code = Stop(*options);
    *exit_code = code.ok() ? *code : ReportStatus(code.status());
  });
}

}  // namespace rondo::cli
