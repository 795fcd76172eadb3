// The user's command `rondo`: one verb, one file.
#include <errno.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

// What is wrong with the command line, and where to read on.
std::string UsageText(const CLI::App& app, const std::vector<std::string>& words,
                      const CLI::ParseError& error) {
  const std::string verb = words.empty() ? "" : words[0];
  const std::string stray = words.size() > 1 && words[1][0] != '-' ? words[1] : "";
  const bool names_run = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.rfind("--state", 0) == 0 || word.rfind("--coordinator", 0) == 0;
  });
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == verb) {
      const bool takes_state = each->get_option_no_throw("--state") != nullptr &&
                               each->get_option_no_throw("job") == nullptr;
      const std::string hint = takes_state && !stray.empty() && !names_run
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
    fmt::print(stderr, "rondo: {}\n", UsageText(app, {argv + 1, argv + argc}, error));
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
