// A whole job over gRPC: the real machine, runtime, journal, checkpoint store and services; only
// the workers are fakes, and there is no port.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mix64.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/jobs.grpc.pb.h"
#include "server/core/job_machine.h"
#include "server/edge/checkpoint_completer.h"
#include "server/edge/checkpoint_store.h"
#include "server/edge/fake_worker.h"
#include "server/edge/jobs_service.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/training_service.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/core_machine.h"

namespace rondo::server {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class JobRunTest : public testing::Test {
 protected:
  JobRunTest() {
    dir_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }

  ~JobRunTest() override {
    if (server_ != nullptr) server_->Shutdown();
    if (coordinator_ != nullptr) coordinator_->Stop();
  }

  void Begin(RoundMode mode, uint64_t workers) {
    MachineConfig config;
    config.job_id = "digits-1";
    config.term = {1};
    config.schedule.steps = 40;
    config.schedule.peak = 0.1;
    config.policy.policy =
        mode == RoundMode::kParallel ? SyncPolicy::kParallel : SyncPolicy::kConstant;
    config.policy.base_steps = 10;
    config.policy.round_steps = 10;
    config.batch_global = 64;
    config.workers_min = workers;
    config.workers_max = workers;
    config.has_test_set = true;
    JobFacts facts;
    facts.job.set_id("digits-1");
    facts.schedule = config.schedule;
    facts.policy = config.policy;
    const std::string path = dir_ + "/journal.db";
    ASSERT_OK(SqliteJournal::Create(path, facts.job, absl::UnixEpoch()));
    ASSERT_OK_AND_ASSIGN(journal_, SqliteJournal::Open(path));
    ASSERT_OK_AND_ASSIGN(reader_, JournalReader::Open(path));
    coordinator_ = std::make_unique<Coordinator>(std::make_unique<CoreMachine>(std::move(config)),
                                                 journal_.get(), &clock_);
    store_ = std::make_unique<CheckpointStore>(dir_ + "/checkpoints", "digits-1", 1);
    completer_ = std::make_unique<CheckpointCompleter>(store_.get(), coordinator_.get());
    WelcomeFacts welcome;
    welcome.job = facts.job;
    training_ = std::make_unique<TrainingService>(coordinator_.get(), store_.get(), welcome);
    jobs_ = std::make_unique<JobsService>(coordinator_.get(), reader_.get(), facts);
    grpc::ServerBuilder builder;
    builder.RegisterService(training_.get());
    builder.RegisterService(jobs_.get());
    server_ = builder.BuildAndStart();
    coordinator_->Start(training_.get(), completer_.get());
  }

  std::vector<FakeWorkerResult> RunWorkers(uint64_t count) {
    std::vector<FakeWorkerResult> results(count);
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < count; ++i) {
      threads.emplace_back([this, i, &results] {
        FakeWorker worker(server_->InProcessChannel({}),
                          {.name = "w" + std::to_string(i), .incarnation = i + 1});
        results[i] = worker.Run();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  std::string dir_;
  RealClock clock_;
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<JournalReader> reader_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<CheckpointStore> store_;
  std::unique_ptr<CheckpointCompleter> completer_;
  std::unique_ptr<TrainingService> training_;
  std::unique_ptr<JobsService> jobs_;
  std::unique_ptr<grpc::Server> server_;
};

class JobRunModeTest : public JobRunTest, public testing::WithParamInterface<RoundMode> {};

TEST_P(JobRunModeTest, ThreeWorkersTrainAJobToItsEnd) {
  Begin(GetParam(), 3);
  const std::vector<FakeWorkerResult> results = RunWorkers(3);
  const Outcome outcome = coordinator_->WaitUntilFinished();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.reason;
  for (const FakeWorkerResult& result : results) {
    EXPECT_EQ(result.goodbye.reason(), v1::GOODBYE_REASON_DONE) << result.goodbye.text();
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_THAT(result.orders, SizeIs(4));
    EXPECT_THAT(result.commits, SizeIs(4));
  }
  EXPECT_TRUE(training_->WaitUntilNoStreams(absl::InfiniteDuration()));
  ASSERT_OK_AND_ASSIGN(const std::vector<RoundRow> rounds, reader_->Rounds({0}, 100));
  ASSERT_THAT(rounds, SizeIs(4));
  EXPECT_THAT(rounds[0].commit.members, ElementsAre("w0", "w1", "w2"));
  EXPECT_EQ(rounds[3].commit.first_step, 30u);
  EXPECT_EQ(rounds[3].commit.samples, 640u);
  EXPECT_TRUE(rounds[3].evaluation.has_value());
  ASSERT_OK_AND_ASSIGN(const std::optional<EndRecord> end, reader_->End());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->state, EndState::kDone);
  EXPECT_EQ(end->step, 40u);
  EXPECT_THAT(store_->CompleteSteps(), ElementsAre(40u));
  EXPECT_OK(store_->Find({40, StateFile::kParameters, ""}));
  EXPECT_OK(store_->Find({40, StateFile::kLocal, "w2"}));
}

INSTANTIATE_TEST_SUITE_P(Modes, JobRunModeTest,
                         testing::Values(RoundMode::kLocal, RoundMode::kParallel),
                         [](const auto& info) {
                           return info.param == RoundMode::kLocal ? "Local" : "Parallel";
                         });

TEST_F(JobRunTest, AWorkerWithTheNameOfALiveOneMustWait) {
  Begin(RoundMode::kLocal, 2);
  FakeWorker first(server_->InProcessChannel({}), {.name = "w0", .incarnation = 1});
  first.SendHello();
  v1::CoordinatorMessage message;
  ASSERT_TRUE(first.Receive(&message));
  EXPECT_TRUE(message.has_welcome());
  FakeWorker second(server_->InProcessChannel({}), {.name = "w0", .incarnation = 2});
  second.SendHello();
  ASSERT_TRUE(second.Receive(&message));
  EXPECT_EQ(message.wait().reason(), v1::WAIT_REASON_NAME_IN_USE);
  EXPECT_FALSE(second.Receive(&message));  // The stream is closed after Wait.
  second.End();
  first.End();
}

// Legal messages at wrong moments, with random numbers in them.
TEST_F(JobRunTest, NoMessageHarmsTheCoordinator) {
  Begin(RoundMode::kLocal, 2);
  SplitMix64 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    FakeWorker worker(server_->InProcessChannel({}),
                      {.name = "w" + std::to_string(trial), .incarnation = 1 + random.Below(9)});
    if (random.Below(2) == 0) worker.SendHello();
    for (int i = 0; i < 5; ++i) {
      // Each body has a tag from 10 to 21; its bytes are random fields.
      std::string body;
      for (uint64_t field = 1; field < 6; ++field) {
        body.push_back(static_cast<char>(field << 3));  // A varint.
        body.push_back(static_cast<char>(random.Below(128)));
      }
      std::string bytes;
      const uint64_t tag = (10 + random.Below(12)) << 3 | 2;
      bytes.push_back(static_cast<char>(tag | 0x80));
      bytes.push_back(static_cast<char>(tag >> 7));
      bytes.push_back(static_cast<char>(body.size()));
      bytes += body;
      v1::WorkerMessage message;
      if (!message.ParseFromString(bytes)) continue;
      message.set_job_id(random.Below(4) == 0 ? "other" : "digits-1");
      message.set_term(random.Below(3));
      if (!worker.Send(message)) break;
    }
    worker.End();
  }
  // It still trains.
  const std::vector<FakeWorkerResult> results = RunWorkers(2);
  for (const FakeWorkerResult& result : results) {
    EXPECT_EQ(result.goodbye.reason(), v1::GOODBYE_REASON_DONE) << result.refuse.text();
  }
}

TEST_F(JobRunTest, AUserStopsTheJobInOrder) {
  Begin(RoundMode::kLocal, 2);
  const auto stub = v1::Jobs::NewStub(server_->InProcessChannel({}));
  grpc::ClientContext context;
  v1::StopJobResponse response;
  ASSERT_TRUE(stub->StopJob(&context, {}, &response).ok());
  const Outcome outcome = coordinator_->WaitUntilFinished();
  ASSERT_OK_AND_ASSIGN(const std::optional<EndRecord> end, reader_->End());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->state, EndState::kStopped) << outcome.reason;
}

}  // namespace
}  // namespace rondo::server
