// `rondo plan`: the rounds of a job and their cost, without training.
#ifndef RONDO_SERVER_CLI_PLAN_H_
#define RONDO_SERVER_CLI_PLAN_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/plan_format.h"

namespace rondo::cli {

struct PlanOptions {
  std::string job_file;
  // Where the data, model and init files are; empty: the job file's folder.
  std::string files_dir = {};
  std::optional<int64_t> workers = {};
  std::optional<int64_t> parameters = {};
  std::optional<double> step_seconds = {};
  std::optional<double> sync_seconds = {};
  // Of the comparison of dense and sparse.
  std::optional<double> density = {};   // That of the job.
  std::vector<double> link_mbits = {};  // Empty: some common ones.
  double latency_ms = 0.1;
  std::optional<double> select_seconds = {};
};

// The plan of a job file. Data files are needed only if the job counts in epochs. Warnings go to
// `*warnings`, ready to be shown. Errors: InvalidArgument or NotFound, with all diagnostics of the
// file, a line each.
absl::StatusOr<PlanView> MakePlan(const PlanOptions& options, std::string* warnings);

// Adds the verb to `app`; when the user names it, *exit_code becomes what it ends with.
void AddPlanVerb(CLI::App& app, int* exit_code);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PLAN_H_
