#include "server/cli/jobs_client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace rondo::cli {
namespace {

constexpr uint32_t kRoundsPage = 1000;

absl::Status FromGrpc(const grpc::Status& status, const std::string& address) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::UnavailableError(fmt::format(
        "no coordinator answers at {} ({}); is it running? --state DIR reads a finished run",
        address, status.error_message()));
  }
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      fmt::format("the coordinator at {} says: {}", address, status.error_message()));
}

std::shared_ptr<grpc::Channel> Dial(const std::string& address) {
  grpc::ChannelArguments arguments;
  // A proxy of the environment never stands between a user and the coordinator.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

JobsClient::JobsClient(std::string address, absl::Duration limit)
    : address_(std::move(address)), limit_(limit), stub_(v1::Jobs::NewStub(Dial(address_))) {}

void JobsClient::SetLimit(grpc::ClientContext& context) const {
  context.set_deadline(absl::ToChronoTime(absl::Now() + limit_));
}

absl::StatusOr<v1::Status> JobsClient::GetStatus() {
  grpc::ClientContext context;
  SetLimit(context);
  v1::Status response;
  RETURN_IF_ERROR(
      FromGrpc(stub_->GetStatus(&context, v1::GetStatusRequest(), &response), address_));
  return response;
}

absl::StatusOr<std::vector<v1::Round>> JobsClient::ListRounds(uint64_t first_round) {
  std::vector<v1::Round> rounds;
  v1::ListRoundsRequest request;
  request.set_first_round(first_round);
  request.set_page_size(kRoundsPage);
  do {
    grpc::ClientContext context;
    SetLimit(context);
    v1::ListRoundsResponse response;
    RETURN_IF_ERROR(FromGrpc(stub_->ListRounds(&context, request, &response), address_));
    for (v1::Round& round : *response.mutable_rounds()) rounds.push_back(std::move(round));
    request.set_first_round(response.next_round());
  } while (request.first_round() != 0);
  return rounds;
}

absl::Status JobsClient::WatchRounds(uint64_t first_round,
                                     absl::FunctionRef<bool(const v1::Round&)> visit) {
  grpc::ClientContext context;
  v1::WatchRoundsRequest request;
  request.set_first_round(first_round);
  const auto reader = stub_->WatchRounds(&context, request);
  v1::WatchRoundsResponse response;
  while (reader->Read(&response)) {
    if (visit(response.round())) continue;
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }
  return FromGrpc(reader->Finish(), address_);
}

absl::StatusOr<v1::CommStats> JobsClient::GetCommStats(uint64_t first_round) {
  grpc::ClientContext context;
  SetLimit(context);
  v1::GetCommStatsRequest request;
  request.set_first_round(first_round);
  v1::CommStats response;
  RETURN_IF_ERROR(FromGrpc(stub_->GetCommStats(&context, request, &response), address_));
  return response;
}

absl::StatusOr<v1::Plan> JobsClient::GetPlan() {
  grpc::ClientContext context;
  SetLimit(context);
  v1::Plan response;
  RETURN_IF_ERROR(FromGrpc(stub_->GetPlan(&context, v1::GetPlanRequest(), &response), address_));
  return response;
}

absl::StatusOr<v1::RoundExplanation> JobsClient::ExplainRound(uint64_t round) {
  grpc::ClientContext context;
  SetLimit(context);
  v1::ExplainRoundRequest request;
  request.set_round(round);
  v1::RoundExplanation response;
  RETURN_IF_ERROR(FromGrpc(stub_->ExplainRound(&context, request, &response), address_));
  return response;
}

template <typename Request, typename Response>
absl::StatusOr<Steered> JobsClient::Steer(grpc::Status (v1::Jobs::Stub::*call)(grpc::ClientContext*,
                                                                               const Request&,
                                                                               Response*),
                                          const Request& request) {
  grpc::ClientContext context;
  SetLimit(context);
  Response response;
  RETURN_IF_ERROR(FromGrpc((stub_.get()->*call)(&context, request, &response), address_));
  return Steered{response.done(), response.step(), response.text()};
}

absl::StatusOr<Steered> JobsClient::Pause(const std::string& reason) {
  v1::PauseRequest request;
  request.set_reason(reason);
  return Steer(&v1::Jobs::Stub::Pause, request);
}

absl::StatusOr<Steered> JobsClient::Resume() {
  return Steer(&v1::Jobs::Stub::Resume, v1::ResumeRequest());
}

absl::StatusOr<Steered> JobsClient::DrainWorker(const std::string& worker) {
  v1::DrainWorkerRequest request;
  request.set_worker(worker);
  return Steer(&v1::Jobs::Stub::DrainWorker, request);
}

absl::StatusOr<Steered> JobsClient::SaveCheckpoint() {
  return Steer(&v1::Jobs::Stub::SaveCheckpoint, v1::SaveCheckpointRequest());
}

absl::StatusOr<Steered> JobsClient::StopJob(const std::string& reason) {
  v1::StopJobRequest request;
  request.set_reason(reason);
  return Steer(&v1::Jobs::Stub::StopJob, request);
}

}  // namespace rondo::cli
