// `rondo explain`: why a round was so long, who was in it, what was repeated and what it cost.
#ifndef RONDO_SERVER_CLI_EXPLAIN_H_
#define RONDO_SERVER_CLI_EXPLAIN_H_

#include <CLI/CLI.hpp>

namespace rondo::cli {

void AddExplainVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_EXPLAIN_H_
