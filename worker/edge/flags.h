// The command line of rondo-worker.
#ifndef RONDO_WORKER_EDGE_FLAGS_H_
#define RONDO_WORKER_EDGE_FLAGS_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "common/log.h"

namespace rondo::worker {

struct Flags {
  std::string coordinator;  // HOST:PORT
  std::string name;         // Never empty after parsing.
  std::string files_dir = ".";
  std::string data_host;  // What peers dial; empty: the bound addresses.
  std::string data_bind;  // Empty: 127.0.0.1 for a coordinator on loopback, else all interfaces.
  uint16_t data_port_first = 0;
  uint16_t data_port_last = 0;
  int threads = 1;
  double grace_seconds = 30;
  double away_seconds = 300;
  bool insecure = false;
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
};

// What the process should print and exit with instead of working.
struct UsageExit {
  int code = 0;  // 0: help was asked for; 2: wrong usage.
  std::string text;
};

std::variant<Flags, UsageExit> ParseFlags(int argc, const char* const* argv);

// The host of "HOST:PORT", "[V6]:PORT", "dns:///HOST:PORT"; loopback: localhost, 127.x, ::1, or a
// Unix socket.
bool IsLoopbackTarget(const std::string& target);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_FLAGS_H_
