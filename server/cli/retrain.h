// Trains the first rounds of a journal again, with real workers on this machine, and compares the
// state after each round with the one that was committed.
#ifndef RONDO_SERVER_CLI_RETRAIN_H_
#define RONDO_SERVER_CLI_RETRAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"

namespace rondo::cli {

struct RetrainOptions {
  v1::Job job;                                // As frozen.
  std::vector<std::string> workers;           // Names, rank order.
  std::vector<server::CommitRecord> commits;  // From the first round on; not empty.
  std::string files_dir;                      // The job's data lies there.
  std::string worker_binary;
  std::string scratch_dir;  // An empty folder for logs; nothing in it is needed afterwards.
};

struct RetrainReport {
  uint64_t rounds = 0;  // With the same state.
  struct Difference {
    RoundId round;
    std::string what;      // "state", "length", ...
    std::string journal;   // What was committed,
    std::string computed;  // and what came out now.
  };
  std::optional<Difference> difference;  // The first one; it ends the training.
};

// Blocks until all rounds are compared. `progress` is called several times a second with the number
// of rounds compared so far. Errors: Unavailable when a worker ends early, NotFound when there is
// no such program, those of the sockets.
absl::StatusOr<RetrainReport> Retrain(const RetrainOptions& options,
                                      absl::FunctionRef<void(uint64_t)> progress);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_RETRAIN_H_
