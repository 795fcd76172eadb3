// `rondo pause`, `rondo resume`, `rondo drain` and `rondo checkpoint`: requests to a live
// coordinator, each answered with what becomes of it.
#ifndef RONDO_SERVER_CLI_STEER_H_
#define RONDO_SERVER_CLI_STEER_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

void AddPauseVerb(CLI::App& app, int* exit_code);
void AddResumeVerb(CLI::App& app, int* exit_code);
void AddDrainVerb(CLI::App& app, int* exit_code);
void AddCheckpointVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_STEER_H_
