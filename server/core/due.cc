#include "server/core/due.h"

#include "server/core/ledger.h"

namespace rondo::server {
namespace {

bool EvaluationDue(const DuePolicy& policy, uint64_t first_step, uint64_t next_step,
                   const LedgerState& before, const LedgerState& after) {
  if (!policy.has_test_set) return false;
  const uint64_t steps = policy.evaluate_every_steps;
  if (steps != 0 && next_step / steps > first_step / steps) return true;
  const uint64_t epochs = policy.evaluate_every_epochs;
  if (epochs == 0) return next_step == policy.total_steps;
  return EpochsDone(after, policy.train_samples, policy.global_batch) / epochs >
         EpochsDone(before, policy.train_samples, policy.global_batch) / epochs;
}

}  // namespace

Due DecideDue(const DuePolicy& policy, uint64_t first_step, uint64_t next_step,
              const LedgerState& before, const LedgerState& after) {
  const uint64_t every = policy.checkpoint_every_steps;
  return {.evaluation = EvaluationDue(policy, first_step, next_step, before, after),
          .save = every != 0 && next_step / every > first_step / every};
}

}  // namespace rondo::server
