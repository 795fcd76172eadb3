// `rondo stop`: ends a job at its next border.
#ifndef RONDO_SERVER_CLI_STOP_H_
#define RONDO_SERVER_CLI_STOP_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

// Adds the verb to `app`; when the user names it, *exit_code becomes what it ends with.
void AddStopVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_STOP_H_
