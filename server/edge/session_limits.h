// What a Welcome tells workers about their own waits.
#ifndef RONDO_SERVER_EDGE_SESSION_LIMITS_H_
#define RONDO_SERVER_EDGE_SESSION_LIMITS_H_

#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::server {

inline v1::SessionLimits SessionLimitsFromJob(const v1::Job& job) {
  v1::SessionLimits limits;
  limits.set_heartbeat_seconds(job.limits().heartbeat_seconds());
  limits.set_silent_seconds(job.limits().silent_seconds());
  limits.set_collective_seconds(job.limits().collective_seconds());
  limits.set_abort_seconds(job.limits().abort_seconds());
  limits.set_coordinator_away_seconds(job.limits().coordinator_away_seconds());
  return limits;
}

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_SESSION_LIMITS_H_
