#include "server/cli/plan.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/job/data_size.h"
#include "common/job/diagnostic.h"
#include "common/job/job_file.h"
#include "common/job/limits.h"
#include "common/job/load_job.h"
#include "common/job/resolve.h"
#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/parameter_count.h"
#include "server/cli/whole_number.h"
#include "server/runtime/job_config.h"

namespace rondo::cli {
namespace {

absl::Status CheckParsed(const std::string& file, const ParsedJob& parsed) {
  if (parsed.errors.empty()) return absl::OkStatus();
  const std::string lines = "the job cannot be planned:\n" + FormatDiagnostics(file, parsed.errors);
  return absl::InvalidArgumentError(absl::StripSuffix(lines, "\n"));
}

// Resolves with the data if it is there. Without it a job that counts in steps can still be
// planned; another one is told what is wrong with its data.
absl::Status Resolve(const PlanOptions& options, const std::string& files_dir, ParsedJob* parsed) {
  const absl::StatusOr<DataSizes> sizes = ReadDataSizes(parsed->job.data(), files_dir);
  ResolveJob(sizes.ok() ? *sizes : DataSizes{}, parsed);
  if (!sizes.ok() && !parsed->errors.empty()) return sizes.status();
  return CheckParsed(options.job_file, *parsed);
}

// For a flag whose value is a share: empty, or what is wrong with it.
std::string CheckDensity(const std::string& text) {
  double density = 0;
  if (absl::SimpleAtod(text, &density) && density > 0 && density <= 1) return "";
  return fmt::format("'{}' is no number greater than 0 up to 1", text);
}

// Vectors that the optimizer keeps beside the parameters.
int64_t CountMoments(const v1::Optimizer& optimizer) {
  if (optimizer.kind() == v1::OPTIMIZER_KIND_ADAMW) return 2;
  return optimizer.momentum() > 0 ? 1 : 0;
}

absl::Status PrintPlan(const PlanOptions& options, bool json, bool ascii) {
  std::string warnings;
  ASSIGN_OR_RETURN(const PlanView view, MakePlan(options, &warnings));
  if (!warnings.empty()) fmt::print(stderr, "{}", warnings);
  if (json) {
    fmt::print("{}\n", PlanJson(view).dump());
  } else {
    fmt::print("{}", PlanText(view, ascii));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanView> MakePlan(const PlanOptions& options, std::string* warnings) {
  ASSIGN_OR_RETURN(ParsedJob parsed, ReadJobFile(options.job_file, options.workers));
  RETURN_IF_ERROR(CheckParsed(options.job_file, parsed));
  std::string files_dir = options.files_dir;
  if (files_dir.empty()) files_dir = std::filesystem::path(options.job_file).parent_path().string();
  RETURN_IF_ERROR(Resolve(options, files_dir, &parsed));
  *warnings = FormatDiagnostics(options.job_file, parsed.warnings);
  PlanView view;
  view.name = parsed.job.name();
  ASSIGN_OR_RETURN(view.schedule, ScheduleFromJob(parsed.job));
  ASSIGN_OR_RETURN(view.policy, PolicyFromJob(parsed.job));
  view.plan = ComputePlan(view.policy, view.schedule);
  view.workers = options.workers.value_or(parsed.job.workers().max());
  view.parameters = options.parameters;
  if (!view.parameters) {
    ASSIGN_OR_RETURN(view.parameters, CountParameters(parsed.job, files_dir));
  }
  if (parsed.job.checkpoint().partials()) {
    view.partials =
        CountPartials(view.policy, view.schedule, parsed.job.checkpoint().every_steps());
  }
  view.state_copies = 1 + CountMoments(parsed.job.optimizer());
  ASSIGN_OR_RETURN(view.collective.config, CollectiveFromJob(parsed.job));
  view.collective.density = options.density.value_or(view.collective.config.density);
  if (!options.link_mbits.empty()) view.collective.link_mbits = options.link_mbits;
  view.collective.message_seconds = options.latency_ms / 1e3;
  view.collective.select_seconds = options.select_seconds;
  view.step_seconds = options.step_seconds;
  view.sync_seconds = options.sync_seconds;
  return view;
}

void AddPlanVerb(CLI::App& app, int* exit_code) {
  struct Options {
    PlanOptions plan;
    bool json = false;
    bool ascii = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "plan", "Shows a job's rounds, syncs, bytes and time, without training it");
  PlanOptions& plan = options->plan;
  verb->add_option("job", plan.job_file, "The job file")->required();
  verb->add_option("--files", plan.files_dir,
                   "Folder of the job's data, model and init files (the job file's own)");
  verb->add_option("--workers", plan.workers, "Members (workers.max of the job)")
      ->check(WholeNumber(1, kJobWorkersMax));
  verb->add_option("--parameters", plan.parameters, "Parameters of the model")
      ->check(WholeNumber(0, int64_t{1} << 48));
  verb->add_option("--step-seconds", plan.step_seconds, "Seconds of a step without its sync")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--sync-seconds", plan.sync_seconds, "Seconds of a sync")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_option("--density", plan.density,
                   "Compare dense and sparse at this density (the job's)")
      ->check(CheckDensity);
  verb->add_option("--link", plan.link_mbits,
                   "Mbit/s of each worker's link, to compare; several may be given "
                   "(100 1000 10000)")
      ->check(CLI::Range(1e-3, 1e7));
  verb->add_option("--latency-ms", plan.latency_ms, "Of a message between workers, to compare")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  verb->add_option("--select-seconds", plan.select_seconds,
                   "Seconds that a sparse sync computes (2 ns a parameter)")
      ->check(CLI::Range(0.0, 1e5));
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->add_flag("--ascii", options->ascii, "Plots in plain characters");
  verb->callback([options, exit_code] {
    *exit_code = ReportLocalStatus(PrintPlan(options->plan, options->json, options->ascii));
  });
}

}  // namespace rondo::cli
