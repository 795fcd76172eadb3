// Where the programs that `rondo run` starts are.
#ifndef RONDO_SERVER_CLI_BINARIES_H_
#define RONDO_SERVER_CLI_BINARIES_H_

#include <string>

#include "absl/status/statusor.h"

namespace rondo::cli {

struct Binaries {
  std::string coordinator;
  std::string worker;
};

// Looks for rondo-coordinator and rondo-worker in `bin_dir` and in its folders `server` and
// `worker` (as Bazel lays them out). An empty `bin_dir`: beside this program, and above its folder.
// Errors: InvalidArgument naming the program and where it was looked for.
absl::StatusOr<Binaries> FindBinaries(const std::string& bin_dir);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_BINARIES_H_
