// `rondo export`: the model of a run as a safetensors file.
#ifndef RONDO_SERVER_CLI_EXPORT_H_
#define RONDO_SERVER_CLI_EXPORT_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

// Adds the verb to `app`; when the user names it, *exit_code becomes what it ends with.
void AddExportVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_EXPORT_H_
