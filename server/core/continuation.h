// How a parallel round goes on after a failed step (rules 18 and 19): where the
// survivors stand, who gives the last step's result to whom, and the order that continues the
// round in the new group. Pure.
#ifndef RONDO_SERVER_CORE_CONTINUATION_H_
#define RONDO_SERVER_CORE_CONTINUATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/round.h"
#include "server/core/schedule.h"

namespace rondo::server {

// A member that can go on, by its next step.
struct Survivor {
  std::string name;
  Incarnation incarnation;
  uint64_t stands_at = 0;
};

struct RepairDecision {
  std::vector<Member> members;           // With their needs; in the survivors' order.
  std::vector<std::string> left_behind;  // More than one step behind: nobody can help them.
  uint64_t stands_at = 0;                // Of all, once the repair is done.
  uint64_t step = 0;                     // Whose result is passed on, if anybody needs it.
};

// Those ahead give the result of the step that the others still have to finish. `survivors` is not
// empty. Members differ by at most one step; who should be further behind is left out.
RepairDecision DecideRepair(const std::vector<Survivor>& survivors);

struct ContinueRequest {
  GroupId group;
  std::vector<Member> members;
  uint64_t step = 0;  // Where all of them stand: first_step .. first_step + length of the round.
  uint64_t train_samples = 0;
  uint64_t global_batch = 0;
};

// The round with an order of the steps that are left (0: the buffers are averaged again), with new
// samples, over the new members. The steps that are done count for all who were in their group;
// those of members that were not finite are dropped. Times and counts of attempts are kept.
// Errors: as DecideShare.
absl::StatusOr<Round> DecideContinuation(const Round& round, const ScheduleConfig& schedule,
                                         const ContinueRequest& request);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_CONTINUATION_H_
