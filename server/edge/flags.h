// The command line of rondo-coordinator.
#ifndef RONDO_SERVER_EDGE_FLAGS_H_
#define RONDO_SERVER_EDGE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/log.h"
#include "server/edge/listen_address.h"

namespace rondo::server {

struct Flags {
  std::string job_file;
  std::string files_dir;  // Where the headers of the data files are read.
  std::string state_dir;
  ListenAddress listen;
  std::string address_file;  // Empty: none.
  bool insecure = false;
  std::optional<uint64_t> workers;        // The first round starts when so many have joined.
  bool fresh_workers = false;             // No worker of an earlier life of the run is alive,
  std::vector<std::string> gone_workers;  // or none of these names.
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
};

// What to do instead of running: --help, --version.
struct FlagsText {
  std::string text;
};

// Errors: InvalidArgument says which flag and what is allowed.
absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv, std::optional<FlagsText>* text);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_FLAGS_H_
