#include "server/cli/steer.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/source.h"
#include "server/cli/utf8.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  std::string argument;  // A pause's reason, the worker to drain.
  bool json = false;
};

using Call = std::function<absl::StatusOr<Steered>(JobsClient&, const Options&)>;

absl::Status Steer(const Options& options, const std::string& verb, const Call& call) {
  ASSIGN_OR_RETURN(const std::optional<EndedRun> ended, LoadEnded(options.source));
  if (ended) {
    return absl::FailedPreconditionError(NothingTo(verb, *ended, options.source.state_dir));
  }
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(fmt::format(
        "the coordinator of {} does not listen yet, or no longer", options.source.state_dir));
  }
  JobsClient client(address);
  ASSIGN_OR_RETURN(const Steered answer, call(client, options));
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"done", answer.done}, {"step", answer.step}, {"text", answer.text}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}\n", answer.text);
  }
  return absl::OkStatus();
}

// The verb with the flags that all have; returns its options, for one of its own.
std::shared_ptr<Options> AddVerb(CLI::App& app, int* exit_code, const std::string& verb,
                                 const std::string& help, const Call& call, CLI::App** added) {
  auto options = std::make_shared<Options>();
  *added = app.add_subcommand(verb, help);
  AddSourceFlags(**added, options->source);
  (*added)->add_flag("--json", options->json, "One JSON object instead of text");
  (*added)->callback([=] { *exit_code = ReportStatus(Steer(*options, verb, call)); });
  return options;
}

}  // namespace

void AddPauseVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = nullptr;
  const auto options = AddVerb(
      app, exit_code, "pause", "Lets a job rest at its next border until `rondo resume`",
      [](JobsClient& client, const Options& given) { return client.Pause(given.argument); }, &verb);
  verb->add_option("--reason", options->argument, "Words for the job's status and history")
      ->check(WrongText);
}

void AddResumeVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = nullptr;
  AddVerb(
      app, exit_code, "resume", "Lets a paused job go on",
      [](JobsClient& client, const Options&) { return client.Resume(); }, &verb);
}

void AddDrainVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = nullptr;
  const auto options = AddVerb(
      app, exit_code, "drain", "Lets one worker finish its order and leave",
      [](JobsClient& client, const Options& given) { return client.DrainWorker(given.argument); },
      &verb);
  verb->add_option("worker", options->argument, "The worker's name")->required();
}

void AddCheckpointVerb(CLI::App& app, int* exit_code) {
  CLI::App* verb = nullptr;
  AddVerb(
      app, exit_code, "checkpoint", "Saves a checkpoint at the job's next border",
      [](JobsClient& client, const Options&) { return client.SaveCheckpoint(); }, &verb);
}

}  // namespace rondo::cli
