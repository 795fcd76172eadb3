// The gRPC service for users: what is going on, what happened, and how the job is steered.
#ifndef RONDO_SERVER_EDGE_JOBS_SERVICE_H_
#define RONDO_SERVER_EDGE_JOBS_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>

#include "common/ids.h"
#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/jobs.grpc.pb.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/core/collective.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"
#include "server/edge/journal_reader.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

// What does not change over the coordinator's life.
struct JobFacts {
  v1::Job job;  // Frozen.
  ScheduleConfig schedule;
  PolicyConfig policy;
  CollectiveConfig collective = {};
};

// Threads: any. Ownership: borrows coordinator and journal, which must outlive it; must outlive the
// grpc::Server that it is registered with.
class JobsService final : public v1::Jobs::CallbackService {
 public:
  JobsService(Coordinator* coordinator, JournalReader* journal, JobFacts facts);

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::Status* response) override;
  grpc::ServerUnaryReactor* ListRounds(grpc::CallbackServerContext* context,
                                       const v1::ListRoundsRequest* request,
                                       v1::ListRoundsResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchRoundsResponse>* WatchRounds(
      grpc::CallbackServerContext* context, const v1::WatchRoundsRequest* request) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* GetCommStats(grpc::CallbackServerContext* context,
                                         const v1::GetCommStatsRequest* request,
                                         v1::CommStats* response) override;
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context,
                                    const v1::GetPlanRequest* request, v1::Plan* response) override;
  grpc::ServerUnaryReactor* ExplainRound(grpc::CallbackServerContext* context,
                                         const v1::ExplainRoundRequest* request,
                                         v1::RoundExplanation* response) override;
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context,
                                  const v1::PauseRequest* request,
                                  v1::PauseResponse* response) override;
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context,
                                   const v1::ResumeRequest* request,
                                   v1::ResumeResponse* response) override;
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::DrainWorkerResponse* response) override;
  grpc::ServerUnaryReactor* SaveCheckpoint(grpc::CallbackServerContext* context,
                                           const v1::SaveCheckpointRequest* request,
                                           v1::SaveCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request,
                                    v1::StopJobResponse* response) override;

 private:
  Coordinator* const coordinator_;
  JournalReader* const journal_;
  const JobFacts facts_;
  std::atomic<size_t> watchers_ = 0;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOBS_SERVICE_H_
