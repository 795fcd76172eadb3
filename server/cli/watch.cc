#include "server/cli/watch.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/round_format.h"
#include "server/cli/source.h"
#include "server/cli/status_format.h"
#include "server/cli/whole_number.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  uint64_t from = 0;
  bool json = false;
};

void PrintRound(const Options& options, const v1::Round& round) {
  fmt::print("{}\n", options.json ? RoundJson(round).dump() : RoundLine(round));
}

absl::Status ShowEnded(const Options& options, const EndedRun& ended) {
  ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, LoadRounds(options.source, options.from));
  if (!options.json) fmt::print("{}\n", RoundHeading());
  for (const v1::Round& round : rounds) PrintRound(options, round);
  fmt::print(stderr, "rondo: job {} {}\n", ended.status.job_id(),
             ended.killed ? "is not running: its coordinator was killed"
                          : fmt::format("has ended ({})", StateName(ended.status.state())));
  return absl::OkStatus();
}

absl::Status Watch(const Options& options) {
  ASSIGN_OR_RETURN(const std::optional<EndedRun> ended, LoadEnded(options.source));
  if (ended) return ShowEnded(options, *ended);
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(fmt::format(
        "the coordinator of {} does not listen yet, or no longer", options.source.state_dir));
  }
  if (!options.json) fmt::print("{}\n", RoundHeading());
  std::fflush(stdout);
  return JobsClient(address).WatchRounds(options.from, [&](const v1::Round& round) {
    PrintRound(options, round);
    // False once the reader of a pipe is gone.
    return std::fflush(stdout) == 0;
  });
}

}  // namespace

void AddWatchVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("watch", "Shows rounds as they are committed, until the job ends");
  AddSourceFlags(*verb, options->source);
  verb->add_option("--from", options->from,
                   "The first round to show; 0: new ones alone, of an ended run all")
      ->check(WholeNumber(0))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON object a line instead of a table");
  verb->callback([=] { *exit_code = ReportStatus(Watch(*options)); });
}

}  // namespace rondo::cli
