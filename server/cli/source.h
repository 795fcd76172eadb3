// Which run a verb talks about: a live coordinator, or a state directory with a live or ended run.
#ifndef RONDO_SERVER_CLI_SOURCE_H_
#define RONDO_SERVER_CLI_SOURCE_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

struct Source {
  std::string coordinator;  // HOST:PORT; empty: not given.
  std::string state_dir;    // Empty: not given.
};

// The flags --coordinator and --state, one of which the user must give.
void AddSourceFlags(CLI::App& verb, Source& source);

// HOST:PORT of the live coordinator: what the user named, or what the state directory's address
// file says; empty when there is none. Nobody has tried yet whether it answers.
std::string LiveAddress(const Source& source);

// From the live coordinator; with a state directory whose coordinator does not answer, from its
// journal. Errors: InvalidArgument when the directory holds no run, Unavailable when nobody
// answers.
absl::StatusOr<v1::Status> LoadStatus(const Source& source);

// A run that no coordinator holds.
struct EndedRun {
  v1::Status status;
  bool killed = false;  // The journal has no end.
};

// The run in the state directory; absent without a directory, or while a coordinator holds it.
// Errors: as LoadStatus.
absl::StatusOr<std::optional<EndedRun>> LoadEnded(const Source& source);

// That it cannot be paused, stopped, ...: `verb`; why, and how it goes on.
std::string NothingTo(const std::string& verb, const EndedRun& run, const std::string& state_dir);

// The committed rounds from `first_round` on (0: all), in ascending order. Errors: as LoadStatus.
absl::StatusOr<std::vector<v1::Round>> LoadRounds(const Source& source, uint64_t first_round);

// What the reductions of the rounds from `first_round` on (0: all) cost. Errors: as LoadStatus.
absl::StatusOr<v1::CommStats> LoadCommStats(const Source& source, uint64_t first_round);

// What became of the round and why; 0: the newest that was ordered. Errors: as LoadStatus, and
// NotFound when it was never ordered.
absl::StatusOr<v1::RoundExplanation> LoadExplanation(const Source& source, uint64_t round);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_SOURCE_H_
