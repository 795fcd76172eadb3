#include "server/edge/coordinator_process.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/atomic_file.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/job/job_file.h"
#include "common/keepalive.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/edge/checkpoint_completer.h"
#include "server/edge/checkpoint_store.h"
#include "server/edge/former_address.h"
#include "server/edge/frozen_job.h"
#include "server/edge/jobs_service.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/recovery.h"
#include "server/edge/session_limits.h"
#include "server/edge/signals.h"
#include "server/edge/state_dir.h"
#include "server/edge/training_service.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/core_machine.h"
#include "server/runtime/machine_config.h"

namespace rondo::server {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitFault = 1;
constexpr int kExitUsage = 2;
constexpr int kExitRefused = 3;
constexpr int kExitStopped = 5;
constexpr int kExitInternal = 70;
// Streams that the job's end closed are flushed within seconds; others are cut.
constexpr absl::Duration kStreamsWait = absl::Seconds(10);
constexpr std::chrono::seconds kServerWait(2);

int Report(const absl::Status& status) {
  std::fprintf(stderr, "rondo-coordinator: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return kExitUsage;
    case absl::StatusCode::kInternal:
      return kExitInternal;
    default:
      return kExitFault;
  }
}

uint64_t RandomBits() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

struct OpenJournal {
  std::unique_ptr<SqliteJournal> writer;
  std::unique_ptr<JournalReader> reader;
};

absl::StatusOr<OpenJournal> Open(const std::string& path) {
  OpenJournal journal;
  ASSIGN_OR_RETURN(journal.writer, SqliteJournal::Open(path));
  ASSIGN_OR_RETURN(journal.reader, JournalReader::Open(path));
  return journal;
}

// A run that begins, or a later term of one.
struct Run {
  v1::Job job;  // Frozen.
  History history;
  std::vector<NumberedNotice> notices;
  OpenJournal journal;
  bool resumed = false;
};

// gRPC's own lines on standard error, while this lives; ours say it better.
class QuietGrpc {
 public:
  QuietGrpc() {
    gpr_set_log_function([](gpr_log_func_args*) {});
  }
  ~QuietGrpc() { gpr_set_log_function(nullptr); }
  QuietGrpc(const QuietGrpc&) = delete;
  QuietGrpc& operator=(const QuietGrpc&) = delete;
};

absl::StatusOr<std::unique_ptr<grpc::Server>> Listen(const Flags& flags, TrainingService* training,
                                                     JobsService* jobs, ListenAddress* real) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(flags.listen.Text(), grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // A port in use is an error.
  builder.SetMaxReceiveMessageSize(static_cast<int>(TrainingLimits().message_bytes));
  SetKeepalive(Keepalive(), &builder);
  builder.RegisterService(training);
  builder.RegisterService(jobs);
  const QuietGrpc quiet;
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::FailedPreconditionError(fmt::format(
        "cannot listen on {}: the port is in use, or the address is none of this machine; give "
        "--listen another one (port 0: the system chooses)",
        flags.listen.Text()));
  }
  *real = flags.listen;
  real->port = port;
  return server;
}

absl::Status WriteAddress(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  const std::string line = text + "\n";
  file.Append(line.data(), line.size());
  return file.Commit();
}

absl::Status Announce(const Flags& flags, const StateDir& dir, const ListenAddress& address) {
  const std::string text = address.Text();
  LogEvent(LogLevel::kInfo, "listening", {{"address", text}});
  std::printf("address=%s\n", text.c_str());
  std::fflush(stdout);
  RETURN_IF_ERROR(WriteAddress(dir.address_path(), text));
  if (flags.address_file.empty()) return absl::OkStatus();
  return WriteAddress(flags.address_file, text);
}

// Nobody may dial an address that is another program's by now. The file may be another
// coordinator's that has taken the journal over.
void RemoveAddress(const std::string& path, const ListenAddress& address) {
  const std::optional<ListenAddress> named = ReadFormerAddress(path);
  if (!named || named->Text() != address.Text()) return;
  std::error_code gone;
  std::filesystem::remove(path, gone);
}

// Runs the job to its end. Fills `began` once anything may have been journaled.
absl::StatusOr<int> Serve(const Flags& flags, const StateDir& dir, Run run, bool* began) {
  const v1::Job& job = run.job;
  const Term term = run.history.term.Next();
  ASSIGN_OR_RETURN(MachineConfig config,
                   MachineConfigFromJob(job, term, {RandomBits(), RandomBits()}));
  config.workers_at_start = flags.workers.value_or(0);
  config.fresh_workers = flags.fresh_workers;
  config.gone_workers = {flags.gone_workers.begin(), flags.gone_workers.end()};
  if (const absl::Status same = CheckHistory(config, run.history); !same.ok()) {
    Report(same);
    return kExitRefused;
  }
  const RoundId last_round = run.history.last_round;
  const JobFacts facts{job, config.schedule, config.policy, config.collective};
  RealClock clock;
  Coordinator coordinator(std::make_unique<CoreMachine>(std::move(config), std::move(run.history)),
                          run.journal.writer.get(), &clock,
                          CoordinatorOptions{.notices = std::move(run.notices)});
  RETURN_IF_ERROR(LinkSharedCheckpoints(dir, job, flags.files_dir, !run.resumed));
  CheckpointStore store(dir.checkpoints_path(), job.id(),
                        static_cast<uint64_t>(job.checkpoint().keep()));
  if (const absl::Status belong = store.CheckBelong(last_round); !belong.ok()) {
    coordinator.Stop();
    return belong;
  }
  CheckpointCompleter completer(&store, &coordinator);
  TrainingService training(&coordinator, &store, {job, SessionLimitsFromJob(job)});
  JobsService jobs(&coordinator, run.journal.reader.get(), facts);
  ListenAddress address;
  absl::StatusOr<std::unique_ptr<grpc::Server>> server = Listen(flags, &training, &jobs, &address);
  if (!server.ok()) {
    coordinator.Stop();
    return server.status();
  }
  *began = true;
  coordinator.Start(&training, &completer);
  const SignalThread signals([&coordinator](const char* name, int count) {
    if (count > 1) _exit(kExitStopped);
    LogEvent(LogLevel::kInfo, "stop_requested", {{"signal", name}});
    coordinator.Submit(StopRequested{name});
  });
  const absl::Status announced = Announce(flags, dir, address);
  Outcome outcome{kExitFault, std::string(announced.message())};
  if (announced.ok()) outcome = coordinator.WaitUntilFinished();
  LogEvent(LogLevel::kInfo, "finished",
           {{"exit_code", fmt::to_string(outcome.exit_code)}, {"reason", outcome.reason}});
  if (outcome.exit_code != kExitInternal) training.WaitUntilNoStreams(kStreamsWait);
  (*server)->Shutdown(std::chrono::system_clock::now() + kServerWait);
  (*server)->Wait();
  RemoveAddress(dir.address_path(), address);
  coordinator.Stop();
  if (outcome.exit_code != kExitDone) {
    std::fprintf(stderr, "rondo-coordinator: %s\n", outcome.reason.c_str());
  }
  return outcome.exit_code;
}

absl::StatusOr<int> BeginRun(const Flags& flags, const StateDir& dir, v1::Job job) {
  job.set_id(MakeJobId(job.name(), RandomBits()));
  RETURN_IF_ERROR(SqliteJournal::Create(dir.journal_path(), job, absl::Now()));
  Run run;
  run.job = std::move(job);
  ASSIGN_OR_RETURN(run.journal, Open(dir.journal_path()));
  bool began = false;
  const absl::StatusOr<int> code = Serve(flags, dir, std::move(run), &began);
  if (began) return code;
  // Nothing has happened: the folder can be used again.
  std::error_code error;
  std::filesystem::remove(dir.journal_path(), error);
  return code;
}

absl::StatusOr<int> ResumeRun(const Flags& flags, const StateDir& dir, Recovered recovered) {
  Run run;
  run.resumed = true;
  run.job = std::move(recovered.job);
  run.history = std::move(recovered.history);
  run.notices = std::move(recovered.notices);
  ASSIGN_OR_RETURN(run.journal, Open(dir.journal_path()));
  if (run.journal.writer->last_record() != recovered.records) {
    return absl::FailedPreconditionError(
        fmt::format("{} was written to while it was read: another coordinator runs on it, though "
                    "the file `lock` beside it says otherwise; stop one of the two",
                    dir.journal_path()));
  }
  bool began = false;
  return Serve(flags, dir, std::move(run), &began);
}

absl::StatusOr<int> LockAndRun(Flags flags) {
  ASSIGN_OR_RETURN(JobToFreeze loaded,
                   LoadJobToFreeze(flags.job_file, flags.files_dir, flags.workers));
  if (!loaded.warnings.empty()) std::fprintf(stderr, "%s", loaded.warnings.c_str());
  ASSIGN_OR_RETURN(const StateDir dir, StateDir::Lock(flags.state_dir));
  ASSIGN_OR_RETURN(FormerRun former, ExamineFormerRun(dir, loaded.job, loaded.given));
  if (!former.text.empty()) std::printf("%s\n", former.text.c_str());
  const std::optional<ListenAddress> former_address = ReadFormerAddress(dir.address_path());
  flags.listen = ChooseAddress(flags.listen, former_address);
  // The coordinator before this one did not end in order: at its address workers may knock that
  // have not heard of the end.
  const bool may_be_dialled =
      !flags.fresh_workers && former_address && former_address->Text() == flags.listen.Text();
  if (former.kind == FormerRun::Kind::kDone && !may_be_dialled) return kExitDone;
  if (!flags.listen.loopback) {
    LogEvent(LogLevel::kWarning, "insecure",
             {{"text", "whoever reaches " + flags.listen.Text() + " can join or stop this job"}});
  }
  if (former.kind == FormerRun::Kind::kNone) return BeginRun(flags, dir, std::move(loaded.job));
  return ResumeRun(flags, dir, std::move(former.recovered));
}

}  // namespace

int RunCoordinator(const Flags& flags) {
  const absl::StatusOr<int> code = LockAndRun(flags);
  return code.ok() ? *code : Report(code.status());
}

}  // namespace rondo::server
