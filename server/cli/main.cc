// The user's command `rondo`: one verb, one file.
#include <CLI/CLI.hpp>
#include <exception>

#include "server/cli/exit_code.h"
#include "server/cli/export.h"
#include "server/cli/plan.h"
#include "server/cli/rounds.h"
#include "server/cli/run.h"
#include "server/cli/status.h"
#include "server/cli/stop.h"
#include "server/cli/watch.h"

int main(int argc, char** argv) {
  CLI::App app("Trains one model on many workers in rounds, and tells what happened", "rondo");
  app.require_subcommand(1);
  int exit_code = rondo::cli::kExitDone;
  rondo::cli::AddRunVerb(app, &exit_code);
  rondo::cli::AddPlanVerb(app, &exit_code);
  rondo::cli::AddStatusVerb(app, &exit_code);
  rondo::cli::AddRoundsVerb(app, &exit_code);
  rondo::cli::AddWatchVerb(app, &exit_code);
  rondo::cli::AddStopVerb(app, &exit_code);
  rondo::cli::AddExportVerb(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help is an "error" of code 0.
    return app.exit(error) == 0 ? rondo::cli::kExitDone : rondo::cli::kExitUsage;
  }
  return exit_code;
}
