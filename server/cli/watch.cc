#include "server/cli/watch.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/round_format.h"
#include "server/cli/source.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  uint64_t from = 0;
  bool json = false;
};

absl::Status Watch(const Options& options) {
  const std::string address = LiveAddress(options.source);
  if (address.empty()) {
    return absl::UnavailableError(fmt::format(
        "no coordinator runs in {}; `rondo rounds --state {}` lists an ended run's rounds",
        options.source.state_dir, options.source.state_dir));
  }
  if (!options.json) fmt::print("{}\n", RoundHeading());
  std::fflush(stdout);
  return JobsClient(address).WatchRounds(options.from, [&](const v1::Round& round) {
    fmt::print("{}\n", options.json ? RoundJson(round).dump() : RoundLine(round));
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
  verb->add_option("--from", options->from, "The first round to show; 0: new ones alone")
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON object a line instead of a table");
  verb->callback([=] { *exit_code = ReportStatus(Watch(*options)); });
}

}  // namespace rondo::cli
