#include "server/cli/status.h"

#include <fmt/format.h>

#include <memory>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/source.h"
#include "server/cli/status_format.h"

namespace rondo::cli {
namespace {

absl::Status PrintStatus(const Source& source, bool json) {
  ASSIGN_OR_RETURN(const v1::Status status, LoadStatus(source));
  if (json) {
    fmt::print("{}\n", StatusJson(status).dump());
  } else {
    fmt::print("{}", StatusText(status));
  }
  return absl::OkStatus();
}

}  // namespace

void AddStatusVerb(CLI::App& app, int* exit_code) {
  struct Options {
    Source source;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("status", "Says where a job stands");
  AddSourceFlags(*verb, options->source);
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] { *exit_code = ReportStatus(PrintStatus(options->source, options->json)); });
}

}  // namespace rondo::cli
