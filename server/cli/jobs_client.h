// The user's side of the Jobs service.
#ifndef RONDO_SERVER_CLI_JOBS_CLIENT_H_
#define RONDO_SERVER_CLI_JOBS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/jobs.grpc.pb.h"
#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

// What became of a request that steers the job.
struct Steered {
  bool done = false;  // It is so already; else it will be.
  uint64_t step = 0;  // Of the border that it is about.
  std::string text;   // In words, without a full stop.
};

// One coordinator. Each call takes at most `limit`, the watch excepted.
// Errors: Unavailable when nobody answers at the address; else what the coordinator says.
// Threads: any.
class JobsClient {
 public:
  // `address` is HOST:PORT. Connects at the first call.
  explicit JobsClient(std::string address, absl::Duration limit = absl::Seconds(10));

  absl::StatusOr<v1::Status> GetStatus();
  // All committed rounds from `first_round` on, in ascending order; 0: from the first.
  absl::StatusOr<std::vector<v1::Round>> ListRounds(uint64_t first_round = 0);
  // Calls `visit` for each round from `first_round` on (0: new ones alone) until the job ends or
  // `visit` returns false.
  absl::Status WatchRounds(uint64_t first_round, absl::FunctionRef<bool(const v1::Round&)> visit);
  absl::StatusOr<v1::Plan> GetPlan();
  // Over the rounds from `first_round` on; 0: all.
  absl::StatusOr<v1::CommStats> GetCommStats(uint64_t first_round);
  // Round 0: the newest. Errors: NotFound: it was never ordered.
  absl::StatusOr<v1::RoundExplanation> ExplainRound(uint64_t round);
  absl::StatusOr<Steered> Pause(const std::string& reason);
  absl::StatusOr<Steered> Resume();
  absl::StatusOr<Steered> DrainWorker(const std::string& worker);
  absl::StatusOr<Steered> SaveCheckpoint();
  absl::StatusOr<Steered> StopJob(const std::string& reason);

 private:
  template <typename Request, typename Response>
  absl::StatusOr<Steered> Steer(grpc::Status (v1::Jobs::Stub::*call)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                                const Request& request);
  void SetLimit(grpc::ClientContext& context) const;

  const std::string address_;
  const absl::Duration limit_;
  const std::unique_ptr<v1::Jobs::Stub> stub_;
};

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_JOBS_CLIENT_H_
