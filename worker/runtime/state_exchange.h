// How a new group's members come to hold one state (Assemble to Formed; rules 8, 14, 15 and
// 18 of proto/RULES.md): the giver sends over the data plane what each member needs, in rank order.
#ifndef RONDO_WORKER_RUNTIME_STATE_EXCHANGE_H_
#define RONDO_WORKER_RUNTIME_STATE_EXCHANGE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/collectives/communicator.h"
#include "worker/core/messages.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/member_state.h"

namespace rondo::worker {

struct ExchangeResult {
  uint64_t state_hash = 0;      // Of the state that the group holds.
  uint64_t received_bytes = 0;  // Payload.
  // A repair's result of assemble.step is in `gradients`; of a sparse order it waits there for
  // AdoptSparse.
  bool took_step = false;
};

struct ExchangeParts {
  MemberState* state = nullptr;
  GradientReducer* gradients = nullptr;
  Communicator* group = nullptr;
  absl::Duration limit;  // For each piece.
};

// Serves or takes what the members' needs say; members that hold the state and are not the giver do
// nothing; their moments are finite (the caller sees to it, rule 15). `held_hash` is that of the
// state which this member holds, if it does.
//   all      parameters, buffers, moments, step count
//   values   parameters and buffers
//   moments  moments and step count
//   initial, file: nothing, the caller has made or read the state that this member works on
//   step     the reduced gradient of assemble.step, into `gradients`; the caller steps with it
// While an order is open (base is kept) the giver gives base, except in a repair: there the members
// share what they work on. What arrives is checked against the hash that the giver computed and,
// where the coordinator named one, against assemble.state_hash. A failure leaves a taker without a
// state: it must take it again. Errors: the communicator's; DataLoss for a wrong hash.
absl::StatusOr<ExchangeResult> ExchangeState(const Assemble& assemble, uint32_t rank,
                                             uint64_t held_hash, const ExchangeParts& parts);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_STATE_EXCHANGE_H_
