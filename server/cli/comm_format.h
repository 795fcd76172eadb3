// What reductions sent and cost, as JSON and as text.
#ifndef RONDO_SERVER_CLI_COMM_FORMAT_H_
#define RONDO_SERVER_CLI_COMM_FORMAT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::cli {

// "ring", "sparse", "topk_gather", "auto"; empty for none.
std::string CollectiveName(v1::CollectiveKind kind);
// "reduce_scatter", "all_gather", "select", ...
std::string PhaseName(v1::Phase phase);

// A list of {phase, bytes_sent, bytes_received, header_bytes_sent, seconds, calls}, and
// entries_sent in phases that send entries.
nlohmann::ordered_json CostsJson(const google::protobuf::RepeatedPtrField<v1::PhaseCost>& costs);
// reductions, entries_selected, entries_delivered, select_seconds, imbalance, residual_norm,
// entry_bytes_sent, control_bytes_sent, cuts, rebalanced.
nlohmann::ordered_json SparseJson(const v1::SparseRound& sparse);

// "sparse 0.01: 172 entries given, 172 taken, ...": one line without a newline.
std::string SparseText(v1::CollectiveKind kind, double density, const v1::SparseRound& sparse);

// collectives: [{collective, rounds, reductions, bytes_sent, reduce_seconds, seconds_each, costs,
// entries_selected, entries_delivered, imbalance}], collective_text, residual_norm,
// residuals_undelivered.
nlohmann::ordered_json CommStatsJson(const v1::CommStats& stats);
// The same as a table.
std::string CommStatsText(const v1::CommStats& stats);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_COMM_FORMAT_H_
