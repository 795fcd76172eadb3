// From the frozen job to what the pure core takes.
#ifndef RONDO_SERVER_RUNTIME_JOB_CONFIG_H_
#define RONDO_SERVER_RUNTIME_JOB_CONFIG_H_

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/collective.h"
#include "server/core/policy.h"
#include "server/core/schedule.h"

namespace rondo {

// `job` has been resolved (resolved.steps > 0).
// Errors: InvalidArgument names an enum value that this version does not know, or what is missing.
absl::StatusOr<ScheduleConfig> ScheduleFromJob(const v1::Job& job);
absl::StatusOr<PolicyConfig> PolicyFromJob(const v1::Job& job);
absl::StatusOr<server::CollectiveConfig> CollectiveFromJob(const v1::Job& job);

}  // namespace rondo

#endif  // RONDO_SERVER_RUNTIME_JOB_CONFIG_H_
