// What falls due at the end of a round: an evaluation, a checkpoint. Pure.
#ifndef RONDO_SERVER_CORE_DUE_H_
#define RONDO_SERVER_CORE_DUE_H_

#include <cstdint>

#include "server/core/records.h"

namespace rondo::server {

struct DuePolicy {
  bool has_test_set = false;
  uint64_t evaluate_every_steps = 0;    // 0: not by steps.
  uint64_t evaluate_every_epochs = 0;   // 0: only at the end, if there is a test set.
  uint64_t checkpoint_every_steps = 0;  // 0: only at the end.
  uint64_t total_steps = 0;             // T
  uint64_t train_samples = 0;
  uint64_t global_batch = 0;  // Of the round.
};

struct Due {
  bool evaluation = false;
  bool save = false;
};

// Of the round from `first_step` to `next_step`, which takes the ledger from `before` to `after` if
// every member delivers.
Due DecideDue(const DuePolicy& policy, uint64_t first_step, uint64_t next_step,
              const LedgerState& before, const LedgerState& after);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_DUE_H_
