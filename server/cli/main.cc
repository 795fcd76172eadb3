// The user's command `rondo`: one verb, one file.
#include <errno.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "common/log.h"
#include "common/nearest.h"
#include "common/version.h"
#include "server/cli/exit_code.h"
#include "server/cli/explain.h"
#include "server/cli/export.h"
#include "server/cli/plan.h"
#include "server/cli/replay.h"
#include "server/cli/rounds.h"
#include "server/cli/run.h"
#include "server/cli/status.h"
#include "server/cli/steer.h"
#include "server/cli/stop.h"
#include "server/cli/watch.h"

namespace rondo::cli {
namespace {

// What is wrong with the command line, and where to read on. `stray`: what follows the verb, if it
// is no flag.
std::string UsageText(const CLI::App& app, const std::string& verb, const std::string& stray,
                      const CLI::ParseError& error) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == verb) {
      const bool takes_state = each->get_option_no_throw("--state") != nullptr &&
                               each->get_option_no_throw("job") == nullptr;
      const std::string hint = takes_state && !stray.empty()
                                   ? fmt::format("; did you mean --state {}?", stray)
                                   : std::string();
      return fmt::format("{}{}; `rondo {} --help` lists the flags", error.what(), hint, verb);
    }
    names.push_back(each->get_name());
  }
  const std::string nearest = NearestWord(verb, names);
  return fmt::format(
      "{}; the commands are {}{}",
      verb.empty() ? "a command is missing" : fmt::format("'{}' is no command", verb),
      fmt::join(names, ", "), nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

int Main(int argc, char** argv) {
  // `replay --train` has a coordinator in this process: standard output is not for its lines.
  SetUpLog(LogFormat::kText, LogLevel::kWarning, "rondo", "");
  CLI::App app("Trains one model on many workers in rounds, and tells what happened", "rondo");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("rondo {}", kVersion));
  int exit_code = kExitDone;
  AddRunVerb(app, &exit_code);
  AddPlanVerb(app, &exit_code);
  AddStatusVerb(app, &exit_code);
  AddRoundsVerb(app, &exit_code);
  AddWatchVerb(app, &exit_code);
  AddExplainVerb(app, &exit_code);
  AddPauseVerb(app, &exit_code);
  AddResumeVerb(app, &exit_code);
  AddDrainVerb(app, &exit_code);
  AddCheckpointVerb(app, &exit_code);
  AddStopVerb(app, &exit_code);
  AddExportVerb(app, &exit_code);
  AddReplayVerb(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const std::string verb = argc > 1 ? argv[1] : "";
    const std::string stray = argc > 2 && argv[2][0] != '-' ? argv[2] : "";
    fmt::print(stderr, "rondo: {}\n", UsageText(app, verb, stray, error));
    return kExitUsage;
  } catch (const std::system_error& error) {  // fmt::print's: a full disk, a closed terminal.
    std::fprintf(stderr, "rondo: cannot write the output: %s\n", error.what());
    return kExitFault;
  }
  if (std::fflush(stdout) != 0 && exit_code == kExitDone) {
    std::fprintf(stderr, "rondo: cannot write the output: %s\n", std::strerror(errno));
    return kExitFault;
  }
  return exit_code;
}

}  // namespace
}  // namespace rondo::cli

int main(int argc, char** argv) { return rondo::cli::Main(argc, argv); }
