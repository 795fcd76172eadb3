// What the Jobs service answers, from the runtime's values.
#ifndef RONDO_SERVER_EDGE_JOBS_CODEC_H_
#define RONDO_SERVER_EDGE_JOBS_CODEC_H_

#include "absl/time/time.h"
#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/core/collective.h"
#include "server/core/job_machine.h"
#include "server/core/plan.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

void EncodeStatus(const CoordinatorStatus& status, const v1::Job& job, absl::Time now,
                  v1::Status* out);
// Without its number.
void EncodeNotice(const NoticeRecord& notice, v1::Notice* out);
void EncodeRound(const RoundRow& row, v1::Round* out);
void EncodeWorker(const WorkerRow& row, absl::Time now, v1::Worker* out);
// `members`, `parameters`: of the live group, 0 while unknown.
void EncodePlan(const PlanSummary& plan, const v1::Job& job, const CollectiveConfig& collective,
                uint64_t members, uint64_t parameters, v1::Plan* out);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOBS_CODEC_H_
