// The processes of a local run: one coordinator and N workers, from their start to the last exit.
//
//   Start ─▶ coordinator ─address file─▶ workers ─▶ Run: progress, signals, ends ─▶ all are gone
#ifndef RONDO_SERVER_CLI_LAUNCHER_H_
#define RONDO_SERVER_CLI_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/cli/jobs_client.h"
#include "server/cli/launch_events.h"
#include "server/cli/process.h"

namespace rondo::cli {

struct LaunchOptions {
  std::string job_path;
  std::string state_dir;  // Exists, with the folder `logs` in it.
  std::string files_dir;  // The job's data lies there.
  int64_t workers = 1;    // >= 1; the job starts when all have joined.
  // With fewer than so many the started job would wait for ever: nobody restarts a worker here.
  int64_t workers_min = 1;
  std::string listen;     // HOST:PORT of the coordinator; port 0: any.
  bool insecure = false;  // Other machines may reach that address.
  std::string coordinator_binary;
  std::string worker_binary;
};

// What the launcher tells while it runs.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Several times a second once the coordinator answers.
  virtual void OnStatus(const v1::Status& status) = 0;
  // A line for the user: a worker that died, a stop that was asked for.
  virtual void OnMessage(const std::string& text) = 0;
};

// Threads: one, which lives as long as the process.
class Launcher {
 public:
  // `observer` must outlive it. Blocks the signals of LaunchEvents from here on.
  static absl::StatusOr<std::unique_ptr<Launcher>> Create(LaunchOptions options,
                                                          LaunchObserver* observer);

  // Returns when no child is left: the exit code of the run, by these rules, the first that holds:
  // the user's second stop request: 5; the coordinator ended by itself: its code (killed: 1); too
  // few workers were left: the code of the first that failed (killed: 1).
  // Errors: a program or log that cannot be used; no child is left then either.
  absl::StatusOr<int> Run();

  // The user asked for a stop while it ran.
  bool stop_requested() const { return stop_requests_ > 0; }

  // The coordinator took the job on; else it refused, or the directory holds a run that has ended.
  bool listened() const { return listened_; }

 private:
  Launcher(LaunchOptions options, LaunchObserver* observer, std::unique_ptr<LaunchEvents> events)
      : options_(std::move(options)), observer_(observer), events_(std::move(events)) {}

  absl::Status StartCoordinator();
  // Empty when the coordinator ended, or was stopped, before it listened.
  absl::StatusOr<std::string> WaitForAddress();
  absl::Status StartWorkers(const std::string& address);
  void Attend(const std::string& address);
  void WaitForWorkers();
  // Waits at most `limit` for an event and acts on it.
  void HandleEvents(absl::Duration limit);
  void HandleStopRequest(int signal_number);
  // Ends the job at its next border; `reason` goes into its history.
  void StopJob(const std::string& reason);
  void ReapChildren();
  void StopIfTooFew();
  void EndLonelyCoordinator();
  void ReportEnd(const Process& process);
  // How a worker ended, with the reason of a refusal.
  std::string EndText(const Process& worker) const;
  bool CoordinatorRuns() const { return !coordinator_->end().has_value(); }
  int64_t WorkersRunning() const;
  int ExitCode() const;

  const LaunchOptions options_;
  LaunchObserver* const observer_;
  const std::unique_ptr<LaunchEvents> events_;
  std::optional<Process> coordinator_;
  std::vector<Process> workers_;
  std::unique_ptr<JobsClient> client_;  // Once the coordinator listens.
  bool listened_ = false;
  bool started_ = false;     // A first group has formed.
  bool first_life_ = false;  // Of the run: nobody has worked on it before.
  int stop_requests_ = 0;
  std::optional<int> worker_failure_;  // Exit code of the first worker that failed.
  std::string worker_failure_text_;
  bool stopped_for_workers_ = false;
  absl::Time lonely_since_ = absl::InfiniteFuture();  // No worker runs.
};

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_LAUNCHER_H_
