// What a sync costs without any training: a real coordinator (machine, runtime, journal on disk,
// gRPC on loopback) and workers that answer at once, local rounds of one step. A round is
// Ready -> Reduce -> Reduced -> journal -> Commit and the next Order. One JSON line.
//
// The time for the journal is the disk's (fsync), so it is told apart: `control` is the round less
// its journal writes.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/keepalive.h"
#include "common/log.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/job_machine.h"
#include "server/core/policy.h"
#include "server/core/records.h"
#include "server/edge/checkpoint_completer.h"
#include "server/edge/checkpoint_store.h"
#include "server/edge/fake_worker.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/training_service.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/core_machine.h"
#include "server/runtime/journal.h"

namespace rondo::server {
namespace {

struct Flags {
  std::string state_dir;
  uint64_t workers = 4;
  int64_t rounds = 2000;
};

// Times each write. Threads: the journal's; read after it has ended.
class TimedJournal final : public Journal {
 public:
  explicit TimedJournal(Journal* journal) : journal_(journal) {}
  absl::Status Write(const std::vector<Record>& records) override {
    const absl::Time start = absl::Now();
    absl::Status status = journal_->Write(records);
    seconds.push_back(absl::ToDoubleSeconds(absl::Now() - start));
    return status;
  }
  std::vector<double> seconds;

 private:
  Journal* const journal_;
};

double MillisAt(std::vector<double> seconds, double quantile) {
  if (seconds.empty()) return 0;
  const size_t index = static_cast<size_t>(quantile * static_cast<double>(seconds.size() - 1));
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(index), seconds.end());
  return seconds[index] * 1e3;
}

MachineConfig ConfigFor(const Flags& flags) {
  MachineConfig config;
  config.job_id = "bench-1";
  config.term = {1};
  config.schedule.steps = flags.rounds;
  config.schedule.peak = 0.1;
  config.policy.policy = SyncPolicy::kConstant;
  config.policy.base_steps = 1;
  config.batch_global = 64;
  config.workers_min = flags.workers;
  config.workers_max = flags.workers;
  return config;
}

// Each worker has a connection of its own, as processes have.
std::shared_ptr<grpc::Channel> ChannelTo(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  SetKeepalive(Keepalive(), &arguments);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

// Seconds between consecutive commits.
std::vector<double> RoundSeconds(JournalReader* reader) {
  std::vector<double> seconds;
  const auto rounds = reader->Rounds({0}, 1'000'000'000);
  if (!rounds.ok()) return seconds;
  for (size_t i = 1; i < rounds->size(); ++i) {
    seconds.push_back(absl::ToDoubleSeconds((*rounds)[i].commit.at - (*rounds)[i - 1].commit.at));
  }
  return seconds;
}

int Run(const Flags& flags) {
  std::filesystem::remove_all(flags.state_dir);
  std::filesystem::create_directories(flags.state_dir);
  const std::string path = flags.state_dir + "/journal.db";
  v1::Job job;
  job.set_id("bench-1");
  if (!SqliteJournal::Create(path, job, absl::Now()).ok()) return 1;
  const auto journal = SqliteJournal::Open(path);
  const auto reader = JournalReader::Open(path);
  if (!journal.ok() || !reader.ok()) return 1;
  TimedJournal timed(journal->get());
  RealClock clock;
  Coordinator coordinator(std::make_unique<CoreMachine>(ConfigFor(flags)), &timed, &clock);
  CheckpointStore store(flags.state_dir + "/checkpoints", job.id(), 1);
  CheckpointCompleter completer(&store, &coordinator);
  TrainingService training(&coordinator, &store, {job, {}});
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  SetKeepalive(Keepalive(), &builder);
  builder.RegisterService(&training);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  coordinator.Start(&training, &completer);
  std::vector<std::thread> workers;
  for (uint64_t i = 0; i < flags.workers; ++i) {
    workers.emplace_back([port, i] {
      FakeWorker(ChannelTo(port), {.name = "w" + std::to_string(i), .incarnation = i + 1}).Run();
    });
  }
  for (std::thread& worker : workers) worker.join();
  const Outcome outcome = coordinator.WaitUntilFinished();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  coordinator.Stop();
  const std::vector<double> rounds = RoundSeconds(reader->get());
  const nlohmann::ordered_json line = {
      {"bench", "control"},
      {"workers", flags.workers},
      {"rounds", rounds.size() + 1},
      {"exit_code", outcome.exit_code},
      {"round_ms_p50", MillisAt(rounds, 0.5)},
      {"round_ms_p99", MillisAt(rounds, 0.99)},
      {"journal_ms_p50", MillisAt(timed.seconds, 0.5)},
      {"journal_ms_p99", MillisAt(timed.seconds, 0.99)},
      {"control_ms_p50", MillisAt(rounds, 0.5) - MillisAt(timed.seconds, 0.5)}};
  std::printf("%s\n", line.dump().c_str());
  return outcome.exit_code;
}

}  // namespace
}  // namespace rondo::server

int main(int argc, char** argv) {
  rondo::server::Flags flags;
  CLI::App app("Control time of a sync on loopback.", "control_bench");
  app.add_option("--state", flags.state_dir, "folder for the journal; its content is deleted")
      ->required();
  app.add_option("--workers", flags.workers)->capture_default_str();
  app.add_option("--rounds", flags.rounds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  rondo::SetUpLog(rondo::LogFormat::kText, rondo::LogLevel::kWarning, "bench", "");
  return rondo::server::Run(flags);
}
