#include "server/cli/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "common/job/limits.h"
#include "common/status_macros.h"
#include "server/cli/binaries.h"
#include "server/cli/exit_code.h"
#include "server/cli/launcher.h"
#include "server/cli/progress_line.h"
#include "server/cli/run_summary.h"
#include "server/cli/status_format.h"
#include "server/cli/whole_number.h"
#include "server/edge/frozen_job.h"

namespace rondo::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string job_path;
  int64_t workers = 0;
  std::string state_dir;
  std::string bin_dir;
  std::string listen = "127.0.0.1:0";
  bool insecure = false;
  bool json = false;
};

class ProgressObserver final : public LaunchObserver {
 public:
  explicit ProgressObserver(ProgressLine* line) : line_(line) {}
  void OnStatus(const v1::Status& status) override {
    v1::Status shown = status;
    // Workers report it once a second, and shorter rounds have none of their own.
    if (shown.samples_per_second() == 0) shown.set_samples_per_second(samples_per_second_);
    samples_per_second_ = shown.samples_per_second();
    line_->Show(ProgressLineText(shown), absl::Now());
  }
  void OnMessage(const std::string& text) override { line_->Message("rondo: " + text); }

 private:
  ProgressLine* const line_;
  double samples_per_second_ = 0;
};

std::string DefaultStateDir(const std::string& job_name, absl::Time now) {
  return fmt::format("rondo-state/{}-{}", job_name,
                     absl::FormatTime("%Y%m%d-%H%M%S", now, absl::LocalTimeZone()));
}

absl::Status MakeStateDir(const std::string& state_dir) {
  std::error_code error;
  fs::create_directories(fs::path(state_dir) / "logs", error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("cannot make the state directory {}: {}; choose another --state", state_dir,
                  error.message()));
}

absl::StatusOr<LaunchOptions> Prepare(const Options& options) {
  const std::string files_dir = fs::absolute(options.job_path).parent_path().string();
  // The coordinator reads it again; here it is read so that a job that is wrong leaves no folder.
  std::optional<uint64_t> workers;
  if (options.workers > 0) workers = static_cast<uint64_t>(options.workers);
  ASSIGN_OR_RETURN(const server::JobToFreeze loaded,
                   server::LoadJobToFreeze(options.job_path, files_dir, workers));
  std::fputs(loaded.warnings.c_str(), stderr);
  const v1::Job& job = loaded.job;
  LaunchOptions launch;
  launch.workers = options.workers > 0 ? options.workers : job.workers().min();
  launch.workers_min = job.workers().min();
  ASSIGN_OR_RETURN(const Binaries binaries, FindBinaries(options.bin_dir));
  launch.coordinator_binary = binaries.coordinator;
  launch.worker_binary = binaries.worker;
  launch.job_path = options.job_path;
  launch.files_dir = files_dir;
  launch.listen = options.listen;
  launch.insecure = options.insecure;
  launch.state_dir =
      options.state_dir.empty() ? DefaultStateDir(job.name(), absl::Now()) : options.state_dir;
  RETURN_IF_ERROR(MakeStateDir(launch.state_dir));
  return launch;
}

absl::StatusOr<int> RunJob(const Options& options) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(LaunchOptions launch, Prepare(options));
  const std::string state_dir = launch.state_dir;
  ProgressLine line(stderr, isatty(fileno(stderr)) != 0);
  ProgressObserver observer(&line);
  line.Message(fmt::format("rondo: {} worker{}, state and logs in {}", launch.workers,
                           launch.workers == 1 ? "" : "s", state_dir));
  ASSIGN_OR_RETURN(const std::unique_ptr<Launcher> launcher,
                   Launcher::Create(std::move(launch), &observer));
  const absl::StatusOr<int> exit_code = launcher->Run();
  line.Finish();
  RETURN_IF_ERROR(exit_code.status());
  // It refused, and has said why; what the directory holds is another run's.
  if (!launcher->listened() && *exit_code != kExitDone) return *exit_code;
  std::optional<LaunchSpan> launched;
  if (launcher->listened()) launched = {start, absl::Now()};
  const absl::StatusOr<RunSummary> summary = SummarizeRun(state_dir, launched);
  if (!summary.ok()) {
    // A run that ended before its first record has nothing to sum up; its cause is told already.
    if (*exit_code != kExitDone) return *exit_code;
    return summary.status();
  }
  // Not fmt::print, which throws when the terminal was closed: the exit code is the run's.
  std::fputs(SummaryText(*summary).c_str(), options.json ? stderr : stdout);
  if (options.json) std::fputs((SummaryJson(*summary).dump() + "\n").c_str(), stdout);
  return RunExitCode(*exit_code, summary->status.state(), launcher->stop_requested());
}

int RunAndReport(const Options& options) {
  const absl::StatusOr<int> exit_code = RunJob(options);
  return exit_code.ok() ? *exit_code : ReportLocalStatus(exit_code.status());
}

}  // namespace

void AddRunVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "run", "Trains a job on this machine: a coordinator and N workers, from start to summary");
  verb->add_option("job", options->job_path, "The job file; its folder holds the data")->required();
  verb->add_option("--workers", options->workers,
                   "Worker processes; training starts when all have joined [workers.min]")
      ->check(WholeNumber(1, kJobWorkersMax));
  verb->add_option("--state", options->state_dir,
                   "Folder for journal, checkpoints, logs, model [rondo-state/NAME-TIME]");
  verb->add_option(
      "--bin-dir", options->bin_dir,
      "Folder with rondo-coordinator and rondo-worker, or with server/ and worker/ that "
      "hold them [this program's folder, or the one above]");
  verb->add_option("--listen", options->listen,
                   "HOST:PORT of the coordinator; port 0: any free one")
      ->capture_default_str();
  verb->add_flag("--insecure", options->insecure,
                 "Allow a --listen address that other machines can reach, without TLS");
  verb->add_flag("--json", options->json,
                 "The last line of output is the summary as a JSON object");
  verb->callback([=] { *exit_code = RunAndReport(*options); });
}

}  // namespace rondo::cli
