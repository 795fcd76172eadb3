#include "worker/edge/worker_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint_files.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/version.h"
#include "worker/edge/data_plane.h"
#include "worker/edge/event_log.h"
#include "worker/edge/job_codec.h"
#include "worker/edge/job_loader.h"
#include "worker/edge/scratch_folder.h"
#include "worker/edge/session.h"
#include "worker/edge/shared_folder_sink.h"
#include "worker/edge/state_downloader.h"
#include "worker/edge/state_uploader.h"
#include "worker/engine/torch_version.h"
#include "worker/runtime/attendant.h"
#include "worker/runtime/heartbeat.h"
#include "worker/runtime/trainer.h"

namespace rondo::worker {
namespace {

// The job of the last Welcome. Threads: any.
class CurrentJob {
 public:
  absl::Status Set(const v1::Job& job, Term term) {
    absl::StatusOr<TrainSpec> spec = DecodeJob(job);
    if (!spec.ok()) return spec.status();
    absl::MutexLock lock(&mutex_);
    spec_ = *std::move(spec);
    term_ = term;
    return absl::OkStatus();
  }
  TrainSpec spec() {
    absl::MutexLock lock(&mutex_);
    return spec_;
  }
  Term term() {
    absl::MutexLock lock(&mutex_);
    return term_;
  }

 private:
  absl::Mutex mutex_;
  TrainSpec spec_ ABSL_GUARDED_BY(mutex_);
  Term term_ ABSL_GUARDED_BY(mutex_);
};

// Checkpoint files go where the job says.
class ChosenSink final : public StateSink {
 public:
  ChosenSink(std::function<bool()> shared, StateSink* folder, StateSink* stream)
      : shared_(std::move(shared)), folder_(folder), stream_(stream) {}
  std::string TemporaryPath(StateFile file) override {
    return file == StateFile::kPartial ? stream_->TemporaryPath(file) : Sink()->TemporaryPath(file);
  }
  absl::StatusOr<SavedFile> Put(uint64_t step, StateFile file, const std::string& path,
                                const StopCheck& stop) override {
    return Sink()->Put(step, file, path, stop);
  }
  absl::Status PutPartial(const PartialId& id, const std::string& path,
                          const StopCheck& stop) override {
    absl::Status put = stream_->PutPartial(id, path, stop);
    if (!put.ok()) {
      LogEvent(LogLevel::kWarning, "partial_not_saved",
               {{"round", fmt::format("{}", id.round)},
                {"step", fmt::format("{}", id.step)},
                {"reason", std::string(put.message())}});
    }
    return put;
  }

 private:
  StateSink* Sink() const { return shared_() ? folder_ : stream_; }

  const std::function<bool()> shared_;
  StateSink* const folder_;
  StateSink* const stream_;
};

constexpr char kScratchPrefix[] = "rondo-worker-";

// Without a usable TMPDIR whoever writes there says so.
std::string TemporaryParent() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : parent.string();
}

uint64_t RandomWord() {
  std::random_device random;
  const uint64_t word = (uint64_t{random()} << 32) | random();
  return word != 0 ? word : 1;
}

MachineConfig ConfigOf(const Flags& flags) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  MachineConfig config;
  config.name = flags.name;
  config.incarnation = {RandomWord()};
  config.rondo_version = kVersion;
  config.torch_version = TorchVersion();
  config.host = host;
  config.pid = getpid();
  config.seed = RandomWord();
  config.limits.coordinator_away_seconds = flags.away_seconds;
  return config;
}

absl::StatusOr<std::unique_ptr<TcpGroups>> OpenDataPlane(const Flags& flags) {
  const bool loopback = IsLoopbackTarget(flags.coordinator);
  ListenSpec spec;
  spec.bind_address = flags.data_bind;
  if (loopback && flags.data_bind.empty() && flags.data_host.empty()) {
    spec.bind_address = "127.0.0.1";
  }
  spec.advertised_host = flags.data_host;
  spec.port_first = flags.data_port_first;
  spec.port_last = flags.data_port_last;
  absl::StatusOr<std::unique_ptr<TcpGroups>> groups = TcpGroups::Create(spec);
  if (groups.ok() && !loopback && (*groups)->OnlyLoopback()) {
    return absl::FailedPreconditionError(fmt::format(
        "the coordinator is on another machine, but workers there could reach this one only at {}; "
        "give --data-bind or --data-host",
        (*groups)->Addresses()));
  }
  return groups;
}

sigset_t TakeSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Everything in the order of its construction: what stands later uses what stands before.
class WorkerProcess {
 public:
  WorkerProcess(const Flags& flags, std::unique_ptr<TcpGroups> groups, sigset_t signals)
      : flags_(flags),
        config_(ConfigOf(flags)),
        groups_(std::move(groups)),
        scratch_(TemporaryParent(), kScratchPrefix,
                 fmt::format("{}{}-{:016x}", kScratchPrefix, getpid(), config_.incarnation.value)),
        session_({[this] {
                    return MakeSessionChannel(flags_.coordinator,
                                              grpc::InsecureChannelCredentials());
                  },
                  [this](Event event) { Post(std::move(event)); },
                  [this](const v1::Job& job, Term term) { return job_.Set(job, term); }}),
        uploader_({flags.name,
                   config_.incarnation,
                   scratch_.path(),
                   [this] { return session_.Channel(); },
                   [this] { return job_.spec().job_id; },
                   [this] { return job_.term(); },
                   {.seed = config_.seed}}),
        folder_sink_({flags.name, config_.incarnation, [this] { return SharedRoot(); }}),
        sink_([this] { return !SharedRoot().empty(); }, &folder_sink_, &uploader_),
        downloader_({flags.name,
                     scratch_.path(),
                     [this] { return session_.Channel(); },
                     [this] { return job_.spec().job_id; },
                     [this] { return SharedRoot(); },
                     {.seed = config_.seed}}),
        trainer_({[this](const Prepare& prepare) {
                    return LoadJob(job_.spec(), {flags_.files_dir, flags_.threads}, prepare);
                  },
                  groups_.get(), &sink_, &clock_, &downloader_},
                 [this](Event event) { Post(std::move(event)); }),
        attendant_({config_, &clock_, &session_,
                    [this](const Command& command) { trainer_.Do(command); }}),
        heartbeat_({&trainer_.gauges(), &clock_,
                    [this] { return absl::Seconds(attendant_.limits().heartbeat_seconds); },
                    [this](const Progress& progress) { Post(HeartbeatDue{progress}); }}) {
    std::thread([this, signals] { WatchSignals(signals); }).detach();
  }

  Exit Run() {
    LogEvent(LogLevel::kInfo, "started",
             {{"coordinator", flags_.coordinator},
              {"data", groups_->Addresses()},
              {"files", flags_.files_dir}});
    attendant_.Start();
    Exit exit = attendant_.WaitForExit();
    session_.Finish(absl::Seconds(1));
    scratch_.Remove();
    return exit;
  }

 private:
  // Empty: the job's files go through the coordinator.
  std::string SharedRoot() {
    const TrainSpec spec = job_.spec();
    if (spec.shared_dir.empty()) return "";
    return SharedCheckpointRoot(flags_.files_dir, spec.shared_dir, spec.job_id);
  }

  void Post(Event event) {
    LogWorkerEvent(event);
    attendant_.Post(std::move(event));
  }

  void WatchSignals(sigset_t signals) {
    while (true) {
      int number = 0;
      if (sigwait(&signals, &number) != 0) return;
      Post(LeaveRequested{absl::Seconds(flags_.grace_seconds), trainer_.gauges().step(),
                          number == SIGTERM ? "SIGTERM" : "SIGINT"});
    }
  }

  const Flags flags_;
  const MachineConfig config_;
  RealClock clock_;
  CurrentJob job_;
  const std::unique_ptr<TcpGroups> groups_;
  ScratchFolder scratch_;
  Session session_;
  StateUploader uploader_;
  SharedFolderSink folder_sink_;
  ChosenSink sink_;
  StateDownloader downloader_;
  Trainer trainer_;
  Attendant attendant_;
  Heartbeat heartbeat_;
};

}  // namespace

int RunWorker(const Flags& flags) {
  const sigset_t signals = TakeSignals();
  absl::StatusOr<std::unique_ptr<TcpGroups>> groups = OpenDataPlane(flags);
  if (!groups.ok()) {
    LogEvent(LogLevel::kError, "cannot_listen",
             {{"reason", std::string(groups.status().message())}});
    return 2;
  }
  // Never destroyed: a step may be running, and the process ends with it.
  auto* process = new WorkerProcess(flags, *std::move(groups), signals);
  const Exit exit = process->Run();
  const bool orderly = exit.code == 0 || exit.code == kExitLeft;
  LogEvent(orderly ? LogLevel::kInfo : LogLevel::kError, "exit",
           {{"code", fmt::format("{}", exit.code)}, {"reason", exit.text}});
  return exit.code;
}

}  // namespace rondo::worker
