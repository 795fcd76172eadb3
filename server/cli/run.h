// `rondo run`: a coordinator and N workers on this machine, from start to summary.
#ifndef RONDO_SERVER_CLI_RUN_H_
#define RONDO_SERVER_CLI_RUN_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

// Adds the verb to `app`; when the user names it, *exit_code becomes what it ends with.
void AddRunVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_RUN_H_
