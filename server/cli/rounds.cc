#include "server/cli/rounds.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/status_macros.h"
#include "server/cli/comm_format.h"
#include "server/cli/exit_code.h"
#include "server/cli/round_format.h"
#include "server/cli/source.h"
#include "server/cli/whole_number.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  uint64_t from = 0;
  bool totals = false;
  bool json = false;
};

absl::Status PrintTotals(const Options& options) {
  ASSIGN_OR_RETURN(const v1::CommStats stats, LoadCommStats(options.source, options.from));
  if (options.json) {
    fmt::print("{}\n", CommStatsJson(stats).dump());
  } else {
    fmt::print("{}", CommStatsText(stats));
  }
  return absl::OkStatus();
}

absl::Status PrintRounds(const Options& options) {
  if (options.totals) return PrintTotals(options);
  ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, LoadRounds(options.source, options.from));
  if (!options.json) fmt::print("{}\n", RoundHeading());
  for (const v1::Round& round : rounds) {
    fmt::print("{}\n", options.json ? RoundJson(round).dump() : RoundLine(round));
  }
  return absl::OkStatus();
}

}  // namespace

void AddRoundsVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("rounds", "Lists the committed rounds");
  AddSourceFlags(*verb, options->source);
  verb->add_option("--from", options->from, "The first round to list")
      ->check(WholeNumber(0))
      ->capture_default_str();
  verb->add_flag("--totals", options->totals,
                 "What they sent and cost together, by collective and phase");
  verb->add_flag("--json", options->json, "One JSON object a line instead of a table");
  verb->callback([=] { *exit_code = ReportStatus(PrintRounds(*options)); });
}

}  // namespace rondo::cli
