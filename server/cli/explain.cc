#include "server/cli/explain.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/explain_format.h"
#include "server/cli/source.h"
#include "server/cli/whole_number.h"

namespace rondo::cli {
namespace {

struct Options {
  Source source;
  uint64_t round = 0;
  bool json = false;
};

absl::Status Explain(const Options& options) {
  ASSIGN_OR_RETURN(const v1::RoundExplanation explanation,
                   LoadExplanation(options.source, options.round));
  if (options.json) {
    fmt::print("{}\n", ExplanationJson(explanation).dump());
  } else {
    fmt::print("{}", ExplanationText(explanation));
  }
  return absl::OkStatus();
}

}  // namespace

void AddExplainVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "explain", "Says why a round has its length and members, and what it cost");
  verb->add_option("round", options->round, "The round's number [the newest]")
      ->check(WholeNumber(1));
  AddSourceFlags(*verb, options->source);
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] { *exit_code = ReportStatus(Explain(*options)); });
}

}  // namespace rondo::cli
