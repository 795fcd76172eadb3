// A plan as text and as JSON.
#ifndef RONDO_SERVER_CLI_PLAN_FORMAT_H_
#define RONDO_SERVER_CLI_PLAN_FORMAT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/cli/collective_plan.h"
#include "server/core/plan.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo::cli {

struct PlanView {
  std::string name;
  ScheduleConfig schedule;
  PolicyConfig policy;
  PlanSummary plan;
  int64_t workers = 1;
  std::optional<int64_t> parameters;
  int64_t partials = 0;      // Saved by each worker over the run.
  int64_t state_copies = 1;  // Parameters and moments: vectors of the parameters' length in each.
  std::optional<double> step_seconds;
  std::optional<double> sync_seconds;
  CollectivePlan collective = {};
};

// steps, rounds, syncs, percent_of_parallel, longest_round, checksum, lengths_rle [[length, count],
// ...], bytes_per_sync (sent by each worker; null when unknown), bytes_per_sync_dense,
// bytes_per_sync_most (sparse: its bound) and bytes_total (over the run), those of
// collective_plan.h, partials (saved by each worker),
// partial_bytes (of all of them over all workers, without buffers; null when unknown),
// predicted_seconds (null when unknown). These names stay.
nlohmann::ordered_json PlanJson(const PlanView& view);

// The same for people, with plots of H and of the rate over the steps; at most 80 columns.
std::string PlanText(const PlanView& view, bool ascii);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PLAN_FORMAT_H_
