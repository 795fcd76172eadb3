// `rondo replay`: recomputes what a run's journal says, and compares.
#ifndef RONDO_SERVER_CLI_REPLAY_H_
#define RONDO_SERVER_CLI_REPLAY_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

void AddReplayVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_REPLAY_H_
