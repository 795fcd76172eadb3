// A committed round as a JSON object and as a line of a table.
#ifndef RONDO_SERVER_CLI_ROUND_FORMAT_H_
#define RONDO_SERVER_CLI_ROUND_FORMAT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

// "parallel" or "local".
std::string ModeName(v1::Mode mode);

// Keys, in order: round, mode, first_step, length, rate_first, mean_loss, parameter_norm_squared,
// state_hash (16 hex digits), members (names in rank order), bytes_sent, reduce_seconds,
// control_seconds, samples; then group, attempts, step_seconds, seconds, undone, collective,
// density, residual_norm_squared, costs (by phase), sparse (comm_format.h; of a sparse round) and,
// after an evaluation, test_loss and test_accuracy. Doubles keep their full precision; what is not
// finite is null.
nlohmann::ordered_json RoundJson(const v1::Round& round);

// The table: a line of headings, a line a round, both without a newline.
std::string RoundHeading();
std::string RoundLine(const v1::Round& round);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_ROUND_FORMAT_H_
