// A job's status as JSON, as a block of text, as the progress line and as the summary of `rondo
// run`.
#ifndef RONDO_SERVER_CLI_STATUS_FORMAT_H_
#define RONDO_SERVER_CLI_STATUS_FORMAT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

// "waiting", "running", "ending", "done", "stopped", "failed", "blocked", "paused".
std::string StateName(v1::JobState state);

// Every field of Status by its name; last_evaluation is null before the first one, an accuracy that
// is not defined (mse) too, once dumped.
nlohmann::ordered_json StatusJson(const v1::Status& status);

// For `rondo status`: several lines, each ended by a newline. What is not known is left out.
std::string StatusText(const v1::Status& status);

// One line without a newline: step/T, round, H, loss, rate, samples/s, % of parallel; before the
// first order what the job waits for.
std::string ProgressLineText(const v1::Status& status);

struct RunSummary {
  v1::Status status;       // After the end.
  uint64_t rounds = 0;     // Committed.
  double seconds = 0;      // Of all lives, from the first one's start or order to the end.
  std::string model_path;  // The exported model; empty: none.
  std::string state_dir;
};

// The block at the end of `rondo run`.
std::string SummaryText(const RunSummary& summary);

// Keys, in order: steps, rounds, syncs, checksum, test_accuracy, test_loss (both null without an
// evaluation), seconds; then state, percent_of_parallel, bytes_sent, bytes_sent_if_parallel,
// step_seconds, reduce_seconds, control_seconds, evaluate_seconds, model, state_dir.
nlohmann::ordered_json SummaryJson(const RunSummary& summary);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_STATUS_FORMAT_H_
