#include "server/edge/jobs_service.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "server/core/job_machine.h"
#include "server/core/plan.h"
#include "server/edge/comm_codec.h"
#include "server/edge/comm_totals.h"
#include "server/edge/explain_codec.h"
#include "server/edge/grpc_status.h"
#include "server/edge/jobs_codec.h"
#include "server/edge/watch_rounds.h"

namespace rondo::server {
namespace {

constexpr uint32_t kPageRounds = 100;
constexpr uint32_t kPageRoundsMax = 1000;
constexpr size_t kWatchersMax = 256;
constexpr size_t kReasonBytesMax = 1000;

grpc::ServerUnaryReactor* Reply(grpc::CallbackServerContext* context,
                                absl::FunctionRef<absl::Status()> answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(answer()));
  return reactor;
}

absl::Status CheckReason(const std::string& reason) {
  if (reason.size() <= kReasonBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("the reason has {} bytes, at most {} are allowed",
                                                reason.size(), kReasonBytesMax));
}

// Answers once what was decided is on disk.
template <typename Response>
grpc::ServerUnaryReactor* AskAndReply(grpc::CallbackServerContext* context,
                                      Coordinator* coordinator, const Event& request,
                                      Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  coordinator->Ask(request, [reactor, response](const absl::StatusOr<SteerAnswer>& answer) {
    if (answer.ok()) {
      response->set_done(answer->done);
      response->set_step(answer->step);
      response->set_text(answer->text);
    }
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

class RefusedWatch final : public grpc::ServerWriteReactor<v1::WatchRoundsResponse> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

JobsService::JobsService(Coordinator* coordinator, JournalReader* journal, JobFacts facts)
    : coordinator_(coordinator), journal_(journal), facts_(std::move(facts)) {}

grpc::ServerUnaryReactor* JobsService::GetStatus(grpc::CallbackServerContext* context,
                                                 const v1::GetStatusRequest*,
                                                 v1::Status* response) {
  return Reply(context, [&]() -> absl::Status {
    EncodeStatus(coordinator_->Status(), facts_.job, coordinator_->Now(), response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::ListRounds(grpc::CallbackServerContext* context,
                                                  const v1::ListRoundsRequest* request,
                                                  v1::ListRoundsResponse* response) {
  return Reply(context, [&]() -> absl::Status {
    if (request->page_size() > kPageRoundsMax) {
      return absl::InvalidArgumentError(
          fmt::format("page_size is {}, at most {} is allowed; ask for the rest from next_round on",
                      request->page_size(), kPageRoundsMax));
    }
    const uint32_t page = request->page_size() == 0 ? kPageRounds : request->page_size();
    ASSIGN_OR_RETURN(const std::vector<RoundRow> rows,
                     journal_->Rounds({request->first_round()}, page + 1));
    for (const RoundRow& row : rows) {
      if (response->rounds_size() < static_cast<int>(page)) {
        EncodeRound(row, response->add_rounds());
      } else {
        response->set_next_round(row.commit.round.value);
      }
    }
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::WatchRoundsResponse>* JobsService::WatchRounds(
    grpc::CallbackServerContext*, const v1::WatchRoundsRequest* request) {
  if (watchers_.fetch_add(1) >= kWatchersMax) {
    watchers_.fetch_sub(1);
    return new RefusedWatch(
        {grpc::StatusCode::RESOURCE_EXHAUSTED,
         fmt::format("{} watchers are there already; use ListRounds", kWatchersMax)});
  }
  auto* reactor = new WatchRoundsReactor(coordinator_, journal_, {request->first_round()},
                                         [this] { watchers_.fetch_sub(1); });
  reactor->Begin();
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::ListWorkers(grpc::CallbackServerContext* context,
                                                   const v1::ListWorkersRequest*,
                                                   v1::ListWorkersResponse* response) {
  return Reply(context, [&]() -> absl::Status {
    const absl::Time now = coordinator_->Now();
    for (const WorkerRow& row : coordinator_->Workers()) {
      EncodeWorker(row, now, response->add_workers());
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::GetCommStats(grpc::CallbackServerContext* context,
                                                    const v1::GetCommStatsRequest* request,
                                                    v1::CommStats* response) {
  return Reply(context, [&]() -> absl::Status {
    const RoundId last{request->last_round()};
    if (last && last.value < request->first_round()) {
      return absl::InvalidArgumentError(fmt::format("last_round {} lies before first_round {}",
                                                    last.value, request->first_round()));
    }
    ASSIGN_OR_RETURN(const CommStats stats, SumUpRounds(*journal_, {request->first_round()}, last));
    EncodeTotals(stats, response);
    const StatusView view = coordinator_->Status().view;
    response->set_collective_text(view.collective_text);
    response->set_residual_norm_squared(view.residual_norm_squared);
    response->set_residuals_undelivered(view.residuals_undelivered);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::GetPlan(grpc::CallbackServerContext* context,
                                               const v1::GetPlanRequest*, v1::Plan* response) {
  return Reply(context, [&]() -> absl::Status {
    const StatusView view = coordinator_->Status().view;
    ScheduleConfig schedule = facts_.schedule;
    if (view.total_steps > 0) schedule.steps = static_cast<int64_t>(view.total_steps);
    if (schedule.steps <= 0) {
      return absl::FailedPreconditionError(
          "the number of steps is not known before a first worker has read the data");
    }
    EncodePlan(ComputePlan(facts_.policy, schedule), facts_.job, facts_.collective,
               view.members.size(), view.parameters, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::ExplainRound(grpc::CallbackServerContext* context,
                                                    const v1::ExplainRoundRequest* request,
                                                    v1::RoundExplanation* response) {
  return Reply(context, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*response, ExplainFromJournal(
                                    *journal_, {facts_.policy, facts_.schedule, facts_.collective},
                                    {request->round()}));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobsService::Pause(grpc::CallbackServerContext* context,
                                             const v1::PauseRequest* request,
                                             v1::PauseResponse* response) {
  if (absl::Status wrong = CheckReason(request->reason()); !wrong.ok()) {
    return Reply(context, [&] { return wrong; });
  }
  return AskAndReply(context, coordinator_, PauseRequested{request->reason()}, response);
}

grpc::ServerUnaryReactor* JobsService::Resume(grpc::CallbackServerContext* context,
                                              const v1::ResumeRequest*,
                                              v1::ResumeResponse* response) {
  return AskAndReply(context, coordinator_, ResumeRequested{}, response);
}

grpc::ServerUnaryReactor* JobsService::DrainWorker(grpc::CallbackServerContext* context,
                                                   const v1::DrainWorkerRequest* request,
                                                   v1::DrainWorkerResponse* response) {
  if (!IsValidWorkerName(request->worker())) {
    return Reply(context, [] {
      return absl::InvalidArgumentError(
          "a worker's name is 1 to 63 letters, digits, dots, dashes or underscores");
    });
  }
  return AskAndReply(context, coordinator_, DrainRequested{request->worker()}, response);
}

grpc::ServerUnaryReactor* JobsService::SaveCheckpoint(grpc::CallbackServerContext* context,
                                                      const v1::SaveCheckpointRequest*,
                                                      v1::SaveCheckpointResponse* response) {
  return AskAndReply(context, coordinator_, CheckpointRequested{}, response);
}

grpc::ServerUnaryReactor* JobsService::StopJob(grpc::CallbackServerContext* context,
                                               const v1::StopJobRequest* request,
                                               v1::StopJobResponse* response) {
  if (absl::Status wrong = CheckReason(request->reason()); !wrong.ok()) {
    return Reply(context, [&] { return wrong; });
  }
  const StopRequested stop{request->reason().empty() ? "a user asked for it" : request->reason()};
  return AskAndReply(context, coordinator_, stop, response);
}

}  // namespace rondo::server
