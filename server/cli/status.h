// `rondo status`: where the job stands.
#ifndef RONDO_SERVER_CLI_STATUS_H_
#define RONDO_SERVER_CLI_STATUS_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

// Adds the verb to `app`; when the user names it, *exit_code becomes what it ends with.
void AddStatusVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_STATUS_H_
