#include "server/cli/stop.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/source.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  std::string reason;
  bool json = false;
};

absl::Status Stop(const Options& options) {
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(
        fmt::format("no coordinator runs in {}: nothing to stop", options.source.state_dir));
  }
  RETURN_IF_ERROR(JobsClient(address).StopJob(options.reason));
  fmt::print("{}\n", options.json
                         ? "{\"stopping\":true}"
                         : "the job stops at its next border and saves a checkpoint there");
  return absl::OkStatus();
}

}  // namespace

void AddStopVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("stop", "Ends a job at its next border, with a checkpoint");
  AddSourceFlags(*verb, options->source);
  verb->add_option("--reason", options->reason, "Words for the job's history");
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] { *exit_code = ReportStatus(Stop(*options)); });
}

}  // namespace rondo::cli
