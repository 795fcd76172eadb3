// What the collective of a planned job sends, and how dense and sparse compare over links of some
// speeds.
#ifndef RONDO_SERVER_CLI_COLLECTIVE_PLAN_H_
#define RONDO_SERVER_CLI_COLLECTIVE_PLAN_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/core/collective.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo::cli {

struct CollectivePlan {
  server::CollectiveConfig config;
  double density = 0;  // Compared with the ring; 0: no comparison.
  std::vector<double> link_mbits = {100, 1000, 10'000};
  double message_seconds = 1e-4;
  std::optional<double> select_seconds = {};  // Of a sync; absent: reckoned from the parameters.
};

// Bytes that one of `workers` sends.
struct PlannedBytes {
  int64_t sync = 0;                  // By the job's collective, at the density after a warm-up.
  int64_t entries = 0;               // The part of `sync` that is entries; dense: 0.
  int64_t dense = 0;                 // The same by the ring.
  int64_t total = 0;                 // Over the run, warm-up included.
  std::optional<int64_t> most = {};  // Sparse: no sync sends more, whatever the data.
};

// Of kind auto: by the ring, which comes first.
PlannedBytes BytesOf(const CollectivePlan& plan, int64_t workers, int64_t parameters,
                     const PolicyConfig& policy, const ScheduleConfig& schedule);

// collective, density, entries, and with `parameters` known links: [{mbits, dense_seconds,
// sparse_seconds, pays_from_workers, pays_to_workers}], pays_up_to_mbits. Null where unknown, or
// where sparse never pays; the links are absent without a density. These names stay.
void AddCollectiveJson(const CollectivePlan& plan, int64_t workers,
                       std::optional<int64_t> parameters, nlohmann::ordered_json* json);

// The lines that compare; empty without a density or parameters. At most 80 columns.
std::string CompareLines(const CollectivePlan& plan, int64_t workers,
                         std::optional<int64_t> parameters);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_COLLECTIVE_PLAN_H_
