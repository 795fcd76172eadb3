// S16: a thousand workers register at once, with the real machine, runtime, journal and service in
// this process; the workers answer without training.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/core/job_machine.h"
#include "server/core/policy.h"
#include "server/edge/checkpoint_completer.h"
#include "server/edge/checkpoint_store.h"
#include "server/edge/fake_worker.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/training_service.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/core_machine.h"

namespace rondo::server {
namespace {

constexpr uint64_t kWorkers = 1000;

MachineConfig ConfigOfAll() {
  MachineConfig config;
  config.job_id = "crowd-1";
  config.term = {1};
  config.schedule.steps = 2;
  config.schedule.peak = 0.1;
  config.policy.policy = SyncPolicy::kConstant;
  config.policy.base_steps = 1;
  config.batch_global = kWorkers;
  config.workers_min = kWorkers;
  config.workers_max = kWorkers;
  config.limits.silent = absl::Minutes(10);  // They send no heartbeats.
  config.limits.lost = absl::Minutes(10);
  config.limits.assemble = absl::Minutes(10);
  return config;
}

// So that a failure is not lost among a thousand lines.
void LogOnlyWarnings() { SetUpLog(LogFormat::kText, LogLevel::kWarning, "test", ""); }

TEST(RegistrationTest, AThousandWorkersRegisterAndTrainTogether) {
  LogOnlyWarnings();
  const std::string dir = testing::TempDir() + "/crowd";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  v1::Job job;
  job.set_id("crowd-1");
  ASSERT_OK(SqliteJournal::Create(dir + "/journal.db", job, absl::UnixEpoch()));
  ASSERT_OK_AND_ASSIGN(const auto journal, SqliteJournal::Open(dir + "/journal.db"));
  RealClock clock;
  Coordinator coordinator(std::make_unique<CoreMachine>(ConfigOfAll()), journal.get(), &clock);
  CheckpointStore store(dir + "/checkpoints", job.id(), 1);
  CheckpointCompleter completer(&store, &coordinator);
  TrainingLimits limits;
  limits.state_streams = kWorkers;  // These workers ask once.
  TrainingService training(&coordinator, &store, {job, {}}, limits);
  grpc::ServerBuilder builder;
  builder.RegisterService(&training);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  coordinator.Start(&training, &completer);

  std::vector<FakeWorkerResult> results(kWorkers);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&server, &result = results[i], i] {
      FakeWorker worker(server->InProcessChannel({}),
                        {.name = "w" + std::to_string(i), .incarnation = i + 1});
      result = worker.Run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(coordinator.WaitUntilFinished().exit_code, 0);
  for (const FakeWorkerResult& result : results) {
    EXPECT_EQ(result.goodbye.reason(), v1::GOODBYE_REASON_DONE)
        << result.goodbye.text() << result.refuse.text();
    EXPECT_EQ(result.commits.size(), 2u);
  }
  server->Shutdown();
  coordinator.Stop();
}

}  // namespace
}  // namespace rondo::server
