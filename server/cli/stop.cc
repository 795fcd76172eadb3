#include "server/cli/stop.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/source.h"
#include "server/cli/status_format.h"
#include "server/cli/utf8.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  std::string reason;
  bool json = false;
};

// `state`: how it has ended; empty: it has not yet.
void Print(const Options& options, uint64_t step, const std::string& text,
           const std::string& state) {
  if (!options.json) return fmt::print("{}\n", text);
  nlohmann::ordered_json json = {{"stopping", state.empty()}, {"step", step}, {"text", text}};
  if (!state.empty()) json["state"] = state;
  fmt::print("{}\n", json.dump());
}

// What there is to stop has ended already: fine, unless it failed.
int ReportEnded(const Options& options, const EndedRun& ended) {
  const v1::Status& status = ended.status;
  Print(options, status.step(), NothingTo("stop", ended, options.source.state_dir),
        StateName(status.state()));
  return status.state() == v1::JOB_STATE_FAILED ? kExitFault : kExitDone;
}

absl::StatusOr<int> Stop(const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<EndedRun> ended, LoadEnded(options.source));
  if (ended) return ReportEnded(options, *ended);
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(fmt::format(
        "the coordinator of {} does not listen yet, or no longer", options.source.state_dir));
  }
  ASSIGN_OR_RETURN(const Steered answer, JobsClient(address).StopJob(options.reason));
  std::string state;
  if (answer.done) {
    const absl::StatusOr<v1::Status> status = LoadStatus(options.source);
    state = StateName(status.ok() ? status->state() : v1::JOB_STATE_STOPPED);
  }
  Print(options, answer.step, answer.text, state);
  return kExitDone;
}

}  // namespace

void AddStopVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("stop", "Ends a job at its next border, with a checkpoint");
  AddSourceFlags(*verb, options->source);
  verb->add_option("--reason", options->reason, "Words for the job's history")->check(WrongText);
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] {
    const absl::StatusOr<int> code = Stop(*options);
    *exit_code = code.ok() ? *code : ReportStatus(code.status());
  });
}

}  // namespace rondo::cli
