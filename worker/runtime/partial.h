// What one member has in the middle of a long local round, as a file: written every so many steps,
// read back by a new process after all have died, so that the round goes on with the same bits.
// Format: worker/runtime/state_tensors; metadata: round, first_step, step, step_count, samples,
// loss_sum (the bits of a double as 16 hex digits), finite.
#ifndef RONDO_WORKER_RUNTIME_PARTIAL_H_
#define RONDO_WORKER_RUNTIME_PARTIAL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/core/messages.h"
#include "worker/runtime/member_state.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

struct Partial {
  RoundId round;
  uint64_t first_step = 0;  // Of the round.
  uint64_t next_step = 0;
  // Of the steps that are done.
  uint64_t samples = 0;
  double loss_sum = 0;
  bool finite = true;
};

// Whether a partial is due before `next_step` of an order: every so many steps, in local rounds
// that are longer than that, not at their end.
bool PartialDue(const Order& order, uint64_t next_step, uint64_t every);

// Writes and hands in what `state` works on, and the residual with which the round began.
// `members`: of the order. `stop` as StateSink::Put.
absl::Status SavePartial(const Partial& partial, uint64_t members, StateSink* sink,
                         const StopCheck& stop, MemberState* state);

// This worker's partial of `step`: working values, moments and residual become the partial's, base
// the round's start, out of the checkpoint of that step. A round from step 0 wants `state` in its
// initial state. Errors as LoadStateFiles; what `state` held is lost.
absl::StatusOr<Partial> LoadPartial(uint64_t step, StateSource* source, const StopCheck& stop,
                                    MemberState* state);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_PARTIAL_H_
