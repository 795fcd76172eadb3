#include "server/cli/launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "server/cli/address_file.h"
#include "server/cli/exit_code.h"
#include "server/cli/jobs_client.h"
#include "server/cli/utf8.h"

namespace rondo::cli {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(250);
// From the coordinator's start until it listens.
constexpr absl::Duration kListenLimit = absl::Seconds(60);
// From the coordinator's end until the workers have left by themselves, and then after SIGTERM.
constexpr absl::Duration kLeaveLimit = absl::Seconds(10);
// A worker that no group has taken in may still be looking for the coordinator.
constexpr absl::Duration kUnwelcomedLimit = absl::Seconds(1);
constexpr int kLogLines = 5;
constexpr std::string_view kWorkerPrefix = "worker-";
constexpr size_t kReasonBytesMax = 900;  // The coordinator takes 1,000.

// Tells one writing of a file from the next.
struct FileVersion {
  ino_t inode = 0;
  timespec time = {};
  bool operator==(const FileVersion& other) const {
    return inode == other.inode && time.tv_sec == other.time.tv_sec &&
           time.tv_nsec == other.time.tv_nsec;
  }
};

FileVersion VersionOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_ino, info.st_mtim};
}

// worker-0, or worker-00 when there are more than ten: rank follows the order of the names.
std::string WorkerName(int64_t index, int64_t count) {
  return fmt::format("{}{:0{}}", kWorkerPrefix, index, fmt::formatted_size("{}", count - 1));
}

// The value of a log line's key, as the log quotes it; empty when there is none.
std::string LoggedValue(const std::string& line, const std::string& key) {
  const size_t at = line.find(fmt::format(" {}=\"", key));
  std::string value;
  if (at == std::string::npos) return value;
  for (size_t i = at + key.size() + 3; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    value += line[i];
  }
  return value;
}

// What a log's last line says: the reason in it, else all of it without the program's name.
std::string Cause(const Process& process) {
  std::string line = process.LastLines(1);
  while (line.ends_with('\n')) line.pop_back();
  if (std::string reason = LoggedValue(line, "reason"); !reason.empty()) return reason;
  for (const std::string_view prefix : {"rondo-worker: ", "rondo-coordinator: "}) {
    if (line.starts_with(prefix)) line.erase(0, prefix.size());
  }
  return line;
}

// Workers that launchers have started on this run before: each has left its log in `logs`.
std::vector<std::string> FormerWorkers(const std::string& logs) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(logs, error)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".log" && name.starts_with(kWorkerPrefix)) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string SignalWords(int number) {
  switch (number) {
    case SIGINT:
      return "Ctrl-C";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "the terminal was closed";
  }
  return fmt::format("signal {}", number);
}

std::string Indented(const std::string& lines) {
  std::string text;
  bool start = true;
  for (char c : lines) {
    if (start) text += "    ";
    start = c == '\n';
    text += c;
  }
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> Launcher::Create(LaunchOptions options,
                                                           LaunchObserver* observer) {
  ASSIGN_OR_RETURN(std::unique_ptr<LaunchEvents> events, LaunchEvents::Create(options.state_dir));
  return std::unique_ptr<Launcher>(new Launcher(std::move(options), observer, std::move(events)));
}

absl::StatusOr<int> Launcher::Run() {
  ASSIGN_OR_RETURN(const std::string address, WaitForAddress());
  if (!address.empty()) {
    RETURN_IF_ERROR(StartWorkers(address));
    Attend(address);
  } else if (ExitCode() == kExitDone) {
    // A directory with a run that is done: the coordinator says so.
    observer_->OnMessage(Cause(*coordinator_));
  }
  WaitForWorkers();
  return ExitCode();
}

absl::Status Launcher::StartCoordinator() {
  std::vector<std::string> argv = {options_.coordinator_binary,
                                   "--job",
                                   options_.job_path,
                                   "--state",
                                   options_.state_dir,
                                   "--files",
                                   options_.files_dir,
                                   "--listen",
                                   options_.listen,
                                   "--address-file",
                                   AddressFileOf(options_.state_dir),
                                   "--workers",
                                   fmt::to_string(options_.workers)};
  // Its workers end with a launcher; without --insecure there can be no others.
  argv.push_back(options_.insecure ? "--insecure" : "--fresh-workers");
  const std::vector<std::string> former = FormerWorkers(options_.state_dir + "/logs");
  first_life_ = former.empty();
  if (options_.insecure && !former.empty()) {
    argv.insert(argv.end(), {"--gone-workers", fmt::format("{}", fmt::join(former, ","))});
  }
  ASSIGN_OR_RETURN(Process coordinator,
                   Process::Start({"coordinator", std::move(argv),
                                   options_.state_dir + "/logs/coordinator.log"}));
  coordinator_.emplace(std::move(coordinator));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Launcher::WaitForAddress() {
  const std::string file = AddressFileOf(options_.state_dir);
  // An earlier run may have left one.
  const FileVersion before = VersionOf(file);
  RETURN_IF_ERROR(StartCoordinator());
  const absl::Time limit = absl::Now() + kListenLimit;
  while (CoordinatorRuns()) {
    if (VersionOf(file) != before) {
      if (std::string address = ReadAddressFile(file); !address.empty()) return address;
    }
    if (absl::Now() >= limit) {
      return absl::DeadlineExceededError(fmt::format(
          "the coordinator did not listen on {} within {}; its last lines:\n{}", options_.listen,
          absl::FormatDuration(kListenLimit), Indented(coordinator_->LastLines(kLogLines))));
    }
    HandleEvents(kPollInterval);
  }
  return std::string();
}

absl::Status Launcher::StartWorkers(const std::string& address) {
  for (int64_t i = 0; i < options_.workers; ++i) {
    const std::string name = WorkerName(i, options_.workers);
    ASSIGN_OR_RETURN(Process worker,
                     Process::Start({name,
                                     {options_.worker_binary, "--coordinator", address, "--name",
                                      name, "--files", options_.files_dir},
                                     fmt::format("{}/logs/{}.log", options_.state_dir, name)}));
    workers_.push_back(std::move(worker));
  }
  return absl::OkStatus();
}

void Launcher::Attend(const std::string& address) {
  listened_ = true;
  client_ = std::make_unique<JobsClient>(address, absl::Seconds(1));
  while (CoordinatorRuns()) {
    if (const absl::StatusOr<v1::Status> status = client_->GetStatus(); status.ok()) {
      // Between two groups a round is open all the same; that of an earlier life may be voided.
      started_ = started_ || status->group() != 0 || (first_life_ && status->round() != 0);
      observer_->OnStatus(*status);
    }
    StopIfTooFew();  // Here, where it is fresh whether the job has started.
    HandleEvents(kPollInterval);
    EndLonelyCoordinator();
  }
}

void Launcher::WaitForWorkers() {
  // Workers leave by themselves when the job has ended. They would look for a dead coordinator for
  // long, and meet the next one under the names of that one's workers.
  const bool told = !coordinator_->end()->signalled;
  for (int signal_number : {0, SIGTERM, SIGKILL}) {
    if (!told && signal_number != SIGKILL) continue;
    for (Process& worker : workers_) {
      if (signal_number != 0) worker.Signal(signal_number);
    }
    const bool welcomed = started_ || signal_number != 0;
    const absl::Time limit = absl::Now() + (welcomed ? kLeaveLimit : kUnwelcomedLimit);
    while (WorkersRunning() > 0 && absl::Now() < limit) HandleEvents(limit - absl::Now());
  }
}

void Launcher::HandleEvents(absl::Duration limit) {
  const LaunchEvent event = events_->Wait(limit);
  if (event.stop_signal != 0) HandleStopRequest(event.stop_signal);
  if (event.child_changed) ReapChildren();
}

void Launcher::StopJob(const std::string& reason) {
  if (client_ != nullptr && client_->StopJob(AsUtf8(reason, kReasonBytesMax)).ok()) return;
  coordinator_->Signal(SIGTERM);
}

void Launcher::HandleStopRequest(int signal_number) {
  ++stop_requests_;
  if (stop_requests_ == 1) {
    observer_->OnMessage("stopping at the next border; once more kills every process");
    StopJob(SignalWords(signal_number));
    return;
  }
  coordinator_->Signal(SIGKILL);
  for (Process& worker : workers_) worker.Signal(SIGKILL);
}

void Launcher::ReapChildren() {
  if (coordinator_->Poll()) ReportEnd(*coordinator_);
  for (Process& worker : workers_) {
    if (!worker.Poll()) continue;
    const ProcessEnd& end = *worker.end();
    if (!end.signalled && end.number == kExitDone) continue;
    if (!worker_failure_.has_value()) {
      worker_failure_ = end.signalled ? kExitFault : end.number;
      worker_failure_text_ = EndText(worker);
    }
    if (CoordinatorRuns() && stop_requests_ == 0) ReportEnd(worker);
  }
}

// Nobody restarts a worker here, so a job that waits for more would wait for ever.
void Launcher::StopIfTooFew() {
  const auto usable = std::count_if(workers_.begin(), workers_.end(), [](const Process& worker) {
    return !worker.end().has_value() ||
           (!worker.end()->signalled && worker.end()->number == kExitDone);
  });
  const int64_t needed = started_ ? options_.workers_min : options_.workers;
  if (!worker_failure_.has_value() || usable >= needed || stop_requests_ > 0 ||
      stopped_for_workers_ || !CoordinatorRuns()) {
    return;
  }
  stopped_for_workers_ = true;
  const std::string left =
      fmt::format("{} of {} worker{} left, the job needs {}{}", usable, options_.workers,
                  options_.workers == 1 ? " is" : "s are", needed, started_ ? "" : " to start");
  observer_->OnMessage(left + ": stopping");
  StopJob(fmt::format("{}; {}", worker_failure_text_, left));
}

// With all workers gone it has at most its last records to write.
void Launcher::EndLonelyCoordinator() {
  if (WorkersRunning() > 0) return;
  const absl::Time now = absl::Now();
  lonely_since_ = std::min(lonely_since_, now);
  if (now >= lonely_since_ + kLeaveLimit) coordinator_->Signal(SIGTERM);
  if (now >= lonely_since_ + 2 * kLeaveLimit) coordinator_->Signal(SIGKILL);
}

std::string Launcher::EndText(const Process& worker) const {
  const ProcessEnd& end = *worker.end();
  if (end.signalled) return fmt::format("{} was {}", worker.name(), end.Text());
  if (end.number != kExitRefused) return fmt::format("{} ended: {}", worker.name(), end.Text());
  return fmt::format("{} was refused: {}", worker.name(), Cause(worker));
}

void Launcher::ReportEnd(const Process& process) {
  const ProcessEnd& end = *process.end();
  if (!end.signalled && end.number == kExitDone) return;
  // A coordinator that was asked to stop says so itself.
  if (&process == &*coordinator_ && (stop_requests_ > 0 || stopped_for_workers_)) return;
  if (!end.signalled && end.number == kExitRefused && &process != &*coordinator_) {
    observer_->OnMessage(fmt::format("{} (log: {})", EndText(process), process.log_path()));
    return;
  }
  if (!listened_ && !end.signalled && &process == &*coordinator_) {
    // It says why it does not take the job on.
    std::string lines = process.LastLines(kLogLines);
    while (lines.ends_with('\n')) lines.pop_back();
    observer_->OnMessage(std::string(absl::StripPrefix(lines, "rondo-coordinator: ")));
    return;
  }
  observer_->OnMessage(fmt::format("{} ended: {}; its log {} ends with\n{}", process.name(),
                                   end.Text(), process.log_path(),
                                   Indented(process.LastLines(kLogLines))));
}

int64_t Launcher::WorkersRunning() const {
  return std::count_if(workers_.begin(), workers_.end(),
                       [](const Process& worker) { return !worker.end().has_value(); });
}

int Launcher::ExitCode() const {
  if (stop_requests_ > 1) return kExitLeft;
  if (stopped_for_workers_) return *worker_failure_;
  const ProcessEnd& end = *coordinator_->end();
  return end.signalled ? kExitFault : end.number;
}

}  // namespace rondo::cli
