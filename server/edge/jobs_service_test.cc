#include "server/edge/jobs_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/jobs.grpc.pb.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_sqlite.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/fakes.h"

namespace rondo::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommitRecord Commit(uint64_t round) {
  CommitRecord commit;
  commit.round = {round};
  commit.group = {1};
  commit.length = 10;
  commit.mean_loss = 0.5;
  commit.state_hash = 7;
  commit.members = commit.contributors = {"w0", "w1"};
  commit.collective = Collective::kSparse;
  commit.density = 0.125;
  commit.reductions = 1;
  commit.reduce_seconds = 0.5;
  commit.costs = {{CostPhase::kGather, 80, 80, 8, 0.25, 1}};
  commit.sparse = SparseStats{.reductions = 1, .selected = 6, .region_entries = 8, .delivered = 4};
  commit.largest_region = 6;
  commit.at = absl::UnixEpoch() + absl::Seconds(100);
  return commit;
}

// StreamClosed{n} commits round n; StopRequested ends the job; a drain knows worker w0 alone.
Effects Decide(const Event& event, absl::Time) {
  Effects effects;
  if (const auto* closed = std::get_if<StreamClosed>(&event)) {
    effects.records.push_back(Commit(closed->stream.value));
    effects.effects.push_back(Send{{1}, {}});
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    effects.records.push_back(NoticeRecord{absl::UnixEpoch(), "stopping", stop->reason});
    effects.effects.push_back(Finish{0, stop->reason});
    effects.answer = SteerAnswer{false, 200, "stops at step 200"};
  } else if (const auto* pause = std::get_if<PauseRequested>(&event)) {
    effects.records.push_back(NoticeRecord{absl::UnixEpoch(), "pause_requested", pause->reason});
    effects.answer = SteerAnswer{false, 210, "pauses at step 210"};
  } else if (std::holds_alternative<ResumeRequested>(event)) {
    effects.answer = SteerAnswer{true, 210, "goes on"};
  } else if (const auto* drain = std::get_if<DrainRequested>(&event)) {
    effects.answer = SteerAnswer{true, 200, "leaves at once"};
    if (drain->worker != "w0") effects.answer = absl::NotFoundError("did you mean 'w0'?");
  } else if (std::holds_alternative<CheckpointRequested>(event)) {
    effects.answer = absl::FailedPreconditionError("nothing is trained yet");
  }
  return effects;
}

class ViewsMachine final : public Machine {
 public:
  Effects Start(absl::Time) override { return {}; }
  Effects Handle(const Event& event, absl::Time now) override { return Decide(event, now); }
  StatusView status(absl::Time) const override {
    StatusView view;
    view.term = {1};
    view.state = JobState::kRunning;
    view.step = 200;
    view.live_step = 100;  // A slow heartbeat.
    view.total_steps = 1000;
    view.syncs = 50;
    view.members = {"w0", "w1"};
    view.parameters = 1000;
    view.started_at = absl::UnixEpoch() - absl::Seconds(5);
    view.last_evaluation = EvaluationRecord{{2}, 20, 0.25, 0.75, 297, 1};
    view.checkpoint_step = 100;
    view.collective = {Collective::kSparse, 0.125};
    view.collective_text = "auto: sparse stays";
    view.residual_norm_squared = 4;
    view.residuals_undelivered = 2;
    return view;
  }
  std::vector<WorkerRow> workers() const override {
    WorkerRow row;
    row.name = "w0";
    row.state = WorkerState::kAway;
    row.rank = 1;
    row.last_heard = absl::UnixEpoch() - absl::Seconds(3);
    return {row};
  }
};

class JobsServiceTest : public testing::Test {
 protected:
  JobsServiceTest() {
    const std::string dir =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir);
    JobFacts facts;
    facts.job.set_id("digits-1");
    facts.job.set_name("digits");
    facts.schedule.steps = 1000;
    facts.schedule.peak = 0.1;
    facts.policy.policy = SyncPolicy::kConstant;
    facts.policy.base_steps = 20;
    EXPECT_OK(SqliteJournal::Create(dir + "/journal.db", facts.job, absl::UnixEpoch()));
    journal_ = *SqliteJournal::Open(dir + "/journal.db");
    reader_ = *JournalReader::Open(dir + "/journal.db");
    coordinator_ = std::make_unique<Coordinator>(std::make_unique<ViewsMachine>(), journal_.get(),
                                                 &clock_, CoordinatorOptions{.run_timers = false});
    coordinator_->Start(&streams_, &checkpoints_);
    service_ = std::make_unique<JobsService>(coordinator_.get(), reader_.get(), facts);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::Jobs::NewStub(server_->InProcessChannel({}));
  }

  ~JobsServiceTest() override {
    server_->Shutdown();
    coordinator_->Stop();
  }

  // Returns once the rounds are on disk.
  void CommitRounds(uint64_t first, uint64_t last) {
    for (uint64_t round = first; round <= last; ++round) {
      coordinator_->Submit(StreamClosed{{round}});
    }
    streams_.WaitForLines(last);
  }

  v1::ListRoundsResponse List(uint64_t first, uint32_t page) {
    grpc::ClientContext context;
    v1::ListRoundsRequest request;
    request.set_first_round(first);
    request.set_page_size(page);
    v1::ListRoundsResponse response;
    EXPECT_TRUE(stub_->ListRounds(&context, request, &response).ok());
    return response;
  }

  FakeClock clock_;
  FakeStreams streams_;
  NoCheckpoints checkpoints_;
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<JournalReader> reader_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<JobsService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Jobs::Stub> stub_;
};

TEST_F(JobsServiceTest, TellsTheStatus) {
  grpc::ClientContext context;
  v1::Status status;
  ASSERT_TRUE(stub_->GetStatus(&context, {}, &status).ok());
  EXPECT_EQ(status.job_id(), "digits-1");
  EXPECT_EQ(status.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(status.term(), 1u);
  EXPECT_EQ(status.percent_of_parallel(), 25);
  EXPECT_EQ(status.live_step(), 200u);
  EXPECT_EQ(status.seconds(), 5);
  EXPECT_EQ(status.last_evaluation().accuracy(), 0.75);
  EXPECT_EQ(status.checkpoint(), "step-100");
  EXPECT_EQ(status.members(), 2u);
  EXPECT_THAT(status.member_names(), ElementsAre("w0", "w1"));
  EXPECT_EQ(status.collective(), v1::COLLECTIVE_KIND_SPARSE);
  EXPECT_EQ(status.density(), 0.125);
  EXPECT_EQ(status.collective_text(), "auto: sparse stays");
  EXPECT_EQ(status.residual_norm_squared(), 4);
  EXPECT_EQ(status.residuals_undelivered(), 2u);
}

TEST_F(JobsServiceTest, ListsWorkers) {
  grpc::ClientContext context;
  v1::ListWorkersResponse response;
  ASSERT_TRUE(stub_->ListWorkers(&context, {}, &response).ok());
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).state(), v1::WORKER_STATE_AWAY);
  EXPECT_EQ(response.workers(0).last_heard_seconds(), 3);
}

TEST_F(JobsServiceTest, ListsRoundsInPages) {
  CommitRounds(1, 5);
  const v1::ListRoundsResponse first = List(0, 2);
  ASSERT_EQ(first.rounds_size(), 2);
  EXPECT_EQ(first.rounds(0).round(), 1u);
  EXPECT_EQ(first.next_round(), 3u);
  EXPECT_THAT(first.rounds(0).members(), ElementsAre("w0", "w1"));
  EXPECT_EQ(first.rounds(0).committed_at(), 100);
  const v1::ListRoundsResponse rest = List(3, 3);
  EXPECT_EQ(rest.rounds_size(), 3);
  EXPECT_EQ(rest.next_round(), 0u);
  EXPECT_EQ(List(6, 10).rounds_size(), 0);
}

TEST_F(JobsServiceTest, RoundsSayWhatTheirReductionsCost) {
  CommitRounds(1, 1);
  const v1::ListRoundsResponse list = List(0, 2);
  ASSERT_EQ(list.rounds_size(), 1);
  const v1::Round& round = list.rounds(0);
  EXPECT_EQ(round.collective(), v1::COLLECTIVE_KIND_SPARSE);
  EXPECT_EQ(round.density(), 0.125);
  ASSERT_EQ(round.costs_size(), 1);
  EXPECT_EQ(round.costs(0).phase(), v1::PHASE_GATHER);
  EXPECT_EQ(round.costs(0).bytes_sent(), 80u);
  EXPECT_EQ(round.sparse().entries_selected(), 3);
  EXPECT_EQ(round.sparse().imbalance(), 1.5);
  EXPECT_EQ(round.sparse().entry_bytes_sent(), 80u);
}

TEST_F(JobsServiceTest, SumsUpWhatReductionsCost) {
  CommitRounds(1, 1200);  // More than are read at once.
  const auto stats_of = [this](uint64_t first, uint64_t last) {
    grpc::ClientContext context;
    v1::GetCommStatsRequest request;
    request.set_first_round(first);
    request.set_last_round(last);
    v1::CommStats stats;
    EXPECT_TRUE(stub_->GetCommStats(&context, request, &stats).ok());
    return stats;
  };
  const v1::CommStats all = stats_of(0, 0);
  ASSERT_EQ(all.collectives_size(), 1);
  EXPECT_EQ(all.collectives(0).rounds(), 1200u);
  EXPECT_EQ(all.collectives(0).costs(0).bytes_sent(), 1200u * 80);
  EXPECT_EQ(all.collectives(0).seconds_each(), 0.5);
  EXPECT_EQ(all.collective_text(), "auto: sparse stays");
  EXPECT_EQ(all.residuals_undelivered(), 2u);
  EXPECT_EQ(stats_of(10, 19).collectives(0).rounds(), 10u);
  grpc::ClientContext context;
  v1::GetCommStatsRequest request;
  request.set_first_round(5);
  request.set_last_round(4);
  v1::CommStats none;
  EXPECT_EQ(stub_->GetCommStats(&context, request, &none).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobsServiceTest, RefusesAPageThatIsTooLarge) {
  grpc::ClientContext context;
  v1::ListRoundsRequest request;
  request.set_page_size(1001);
  v1::ListRoundsResponse response;
  const grpc::Status status = stub_->ListRounds(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("1000"));
}

TEST_F(JobsServiceTest, WatchesPastRoundsThenNewOnesUntilTheEnd) {
  CommitRounds(1, 250);
  grpc::ClientContext context;
  v1::WatchRoundsRequest request;
  request.set_first_round(2);
  const auto reader = stub_->WatchRounds(&context, request);
  v1::WatchRoundsResponse response;
  for (uint64_t round = 2; round <= 250; ++round) {
    ASSERT_TRUE(reader->Read(&response));
    ASSERT_EQ(response.round().round(), round);
  }
  CommitRounds(251, 300);
  for (uint64_t round = 251; round <= 300; ++round) {
    ASSERT_TRUE(reader->Read(&response));
    ASSERT_EQ(response.round().round(), round);
  }
  coordinator_->Submit(StopRequested{"test"});
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(JobsServiceTest, AWatcherThatReadsLateMissesNothing) {
  grpc::ClientContext context;
  v1::WatchRoundsRequest request;
  request.set_first_round(1);
  const auto reader = stub_->WatchRounds(&context, request);
  CommitRounds(1, 500);
  coordinator_->Submit(StopRequested{"test"});
  coordinator_->WaitUntilFinished();
  v1::WatchRoundsResponse response;
  uint64_t round = 0;
  while (reader->Read(&response)) ASSERT_EQ(response.round().round(), ++round);
  EXPECT_EQ(round, 500u);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(JobsServiceTest, AWatcherMayLeave) {
  CommitRounds(1, 3);
  grpc::ClientContext context;
  v1::WatchRoundsRequest request;
  request.set_first_round(1);
  const auto reader = stub_->WatchRounds(&context, request);
  v1::WatchRoundsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  context.TryCancel();
  EXPECT_FALSE(reader->Finish().ok());
  CommitRounds(4, 5);
}

TEST_F(JobsServiceTest, TellsThePlan) {
  grpc::ClientContext context;
  v1::Plan plan;
  ASSERT_TRUE(stub_->GetPlan(&context, {}, &plan).ok());
  EXPECT_EQ(plan.steps(), 1000u);
  EXPECT_EQ(plan.rounds(), 50u);
  EXPECT_EQ(plan.syncs(), 50u);
  ASSERT_EQ(plan.lengths_size(), 1);
  EXPECT_EQ(plan.lengths(0).length(), 20u);
  EXPECT_EQ(plan.bytes_per_sync(), 4000u);
  EXPECT_EQ(plan.job().name(), "digits");
}

TEST_F(JobsServiceTest, AnswersRequestsOfUsers) {
  grpc::ClientContext pausing;
  v1::PauseRequest pause;
  pause.set_reason("lunch");
  v1::PauseResponse paused;
  ASSERT_TRUE(stub_->Pause(&pausing, pause, &paused).ok());
  EXPECT_FALSE(paused.done());
  EXPECT_EQ(paused.step(), 210u);
  EXPECT_EQ(paused.text(), "pauses at step 210");
  // It was on disk before the answer.
  EXPECT_EQ(reader_->Notices(1, 10)->at(0).text, "lunch");
  grpc::ClientContext resuming;
  v1::ResumeResponse resumed;
  ASSERT_TRUE(stub_->Resume(&resuming, {}, &resumed).ok());
  EXPECT_TRUE(resumed.done());
  grpc::ClientContext saving;
  v1::SaveCheckpointResponse saved;
  EXPECT_EQ(stub_->SaveCheckpoint(&saving, {}, &saved).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(JobsServiceTest, DrainsAWorkerByItsName) {
  const auto drain = [this](const std::string& worker) {
    grpc::ClientContext context;
    v1::DrainWorkerRequest request;
    request.set_worker(worker);
    v1::DrainWorkerResponse response;
    return stub_->DrainWorker(&context, request, &response);
  };
  EXPECT_TRUE(drain("w0").ok());
  EXPECT_EQ(drain("w1").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(drain("w1").error_message(), HasSubstr("'w0'"));
  EXPECT_EQ(drain("").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(drain(std::string(64, 'x')).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobsServiceTest, RefusesReasonsThatAreTooLong) {
  grpc::ClientContext context;
  v1::PauseRequest request;
  request.set_reason(std::string(1001, 'x'));
  v1::PauseResponse response;
  EXPECT_EQ(stub_->Pause(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobsServiceTest, ARoundThatWasNeverOrderedIsNotExplained) {
  grpc::ClientContext context;
  v1::ExplainRoundRequest request;
  request.set_round(7);
  v1::RoundExplanation response;
  EXPECT_EQ(stub_->ExplainRound(&context, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobsServiceTest, StopsTheJobWithTheUsersReason) {
  grpc::ClientContext context;
  v1::StopJobRequest request;
  request.set_reason("lunch");
  v1::StopJobResponse response;
  ASSERT_TRUE(stub_->StopJob(&context, request, &response).ok());
  EXPECT_EQ(coordinator_->WaitUntilFinished().reason, "lunch");
  grpc::ClientContext again;
  v1::Status status;
  ASSERT_TRUE(stub_->GetStatus(&again, {}, &status).ok());
  ASSERT_EQ(status.events_size(), 1);
  EXPECT_EQ(status.events(0).kind(), "stopping");
  EXPECT_EQ(status.events(0).number(), 1u);
}

}  // namespace
}  // namespace rondo::server
