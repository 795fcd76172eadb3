#include "server/cli/retrain.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/keepalive.h"
#include "common/status_macros.h"
#include "server/cli/process.h"
#include "server/core/job_machine.h"
#include "server/edge/checkpoint_completer.h"
#include "server/edge/checkpoint_store.h"
#include "server/edge/session_limits.h"
#include "server/edge/training_service.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/core_machine.h"
#include "server/runtime/journal.h"
#include "server/runtime/machine_config.h"

namespace rondo::cli {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(200);
constexpr int kLogLines = 5;

// Keeps nothing: compares each commit with the one that was journaled. Threads: any.
class ComparingJournal final : public server::Journal {
 public:
  explicit ComparingJournal(const std::vector<server::CommitRecord>* expected)
      : expected_(expected) {}

  absl::Status Write(const std::vector<server::Record>& records) override {
    absl::MutexLock lock(&mutex_);
    for (const server::Record& record : records) {
      if (const auto* commit = std::get_if<server::CommitRecord>(&record)) Compare(*commit);
      if (const auto* end = std::get_if<server::EndRecord>(&record)) End(*end);
    }
    return absl::OkStatus();
  }

  // True once there is nothing more to compare; waits at most `limit` for it.
  bool WaitUntilDone(absl::Duration limit) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&done_), limit);
  }

  RetrainReport report() {
    absl::MutexLock lock(&mutex_);
    return report_;
  }

 private:
  void Compare(const server::CommitRecord& commit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (done_) return;
    const server::CommitRecord& expected = (*expected_)[report_.rounds];
    const auto expect = [&](const char* what, const std::string& journal,
                            const std::string& computed) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (journal == computed || report_.difference) return;
      report_.difference = {expected.round, what, journal, computed};
    };
    expect("first step", fmt::to_string(expected.first_step), fmt::to_string(commit.first_step));
    expect("length", fmt::to_string(expected.length), fmt::to_string(commit.length));
    expect("samples", fmt::to_string(expected.samples), fmt::to_string(commit.samples));
    expect("state hash", fmt::format("{:016x}", expected.state_hash),
           fmt::format("{:016x}", commit.state_hash));
    if (!report_.difference) ++report_.rounds;
    done_ = report_.difference || report_.rounds == expected_->size();
  }
  void End(const server::EndRecord& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (done_) return;
    report_.difference = {(*expected_)[report_.rounds].round, "end of the run", "a further round",
                          end.reason};
    done_ = true;
  }

  const std::vector<server::CommitRecord>* const expected_;
  absl::Mutex mutex_;
  RetrainReport report_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

// A coordinator of the same job that keeps no history and listens on loopback.
class Rehearsal {
 public:
  static absl::StatusOr<std::unique_ptr<Rehearsal>> Begin(const RetrainOptions& options,
                                                          ComparingJournal* journal) {
    ASSIGN_OR_RETURN(server::MachineConfig config,
                     server::MachineConfigFromJob(options.job, Term{1}, {1, 2}));
    config.workers_at_start = options.workers.size();
    config.has_test_set = false;        // Nothing is evaluated
    config.checkpoint_every_steps = 0;  // or saved on the way.
    std::unique_ptr<Rehearsal> rehearsal(new Rehearsal(options, std::move(config), journal));
    RETURN_IF_ERROR(rehearsal->Listen());
    return rehearsal;
  }
  ~Rehearsal() {
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now());
      server_->Wait();
    }
    coordinator_.Stop();
  }

  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  Rehearsal(const RetrainOptions& options, server::MachineConfig config, ComparingJournal* journal)
      : coordinator_(std::make_unique<server::CoreMachine>(std::move(config)), journal, &clock_),
        store_(options.scratch_dir + "/checkpoints", options.job.id(), 1),
        completer_(&store_, &coordinator_),
        training_(&coordinator_, &store_,
                  {options.job, server::SessionLimitsFromJob(options.job)}) {}

  absl::Status Listen() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(server::TrainingLimits().message_bytes));
    SetKeepalive(Keepalive(), &builder);
    builder.RegisterService(&training_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError("cannot listen on a free port of 127.0.0.1");
    }
    coordinator_.Start(&training_, &completer_);
    return absl::OkStatus();
  }

  RealClock clock_;
  server::Coordinator coordinator_;
  server::CheckpointStore store_;
  server::CheckpointCompleter completer_;
  server::TrainingService training_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

absl::StatusOr<std::vector<Process>> StartWorkers(const RetrainOptions& options,
                                                  const std::string& address) {
  std::vector<Process> workers;
  for (const std::string& name : options.workers) {
    ASSIGN_OR_RETURN(Process worker,
                     Process::Start({name,
                                     {options.worker_binary, "--coordinator", address, "--name",
                                      name, "--files", options.files_dir},
                                     fmt::format("{}/{}.log", options.scratch_dir, name)}));
    workers.push_back(std::move(worker));
  }
  return workers;
}

}  // namespace

absl::StatusOr<RetrainReport> Retrain(const RetrainOptions& options,
                                      absl::FunctionRef<void(uint64_t)> progress) {
  ComparingJournal journal(&options.commits);
  ASSIGN_OR_RETURN(const std::unique_ptr<Rehearsal> rehearsal, Rehearsal::Begin(options, &journal));
  // Killed first when this returns: its streams end before the server does.
  ASSIGN_OR_RETURN(std::vector<Process> workers, StartWorkers(options, rehearsal->address()));
  while (!journal.WaitUntilDone(kPollInterval)) {
    progress(journal.report().rounds);
    for (Process& worker : workers) {
      if (!worker.Poll()) continue;
      if (journal.WaitUntilDone(absl::ZeroDuration())) break;
      return absl::AbortedError(fmt::format("{} ended early: {}; its last lines:\n{}",
                                            worker.name(), worker.end()->Text(),
                                            worker.LastLines(kLogLines)));
    }
  }
  return journal.report();
}

}  // namespace rondo::cli
