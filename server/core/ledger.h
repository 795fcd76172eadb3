// Which samples an order takes and what becomes of them. Pure.
//
// A step's global batch is the next contiguous piece of the epoch's order; rank k of P takes the
// entries of the batch whose index in it is congruent to k modulo P, so a member has the same
// number of samples in each step of an order. What lost workers did not deliver stands before the
// cursor: it is handed out first, in the name of its epoch, and the rest of the batch comes from
// the cursor. What an epoch has left when a batch no longer fits is dropped and counted. The cursor
// moves only when the round is committed: LedgerState is a value, and the job's is replaced at
// Commit.
#ifndef RONDO_SERVER_CORE_LEDGER_H_
#define RONDO_SERVER_CORE_LEDGER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::server {

struct ShareRequest {
  uint64_t train_samples = 0;  // N
  uint64_t global_batch = 0;   // B, samples of a step over all members.
  uint64_t steps = 0;
  uint64_t members = 0;  // P
};

// One order's samples.
struct Share {
  std::vector<std::vector<SampleRun>> runs;  // By rank.
  std::vector<uint64_t> batch;               // By rank: samples of a step.
  uint64_t tail_dropped = 0;                 // Left over at ends of epochs.
  LedgerState after;                         // If every member delivers.
};

// Errors: FailedPrecondition if a batch does not fit into an epoch or is empty.
// Cost: grows with the returned runs that are handed out and with the ends of epochs, not with
// `steps`.
absl::StatusOr<Share> DecideShare(const LedgerState& ledger, const ShareRequest& request);

// Samples over all runs.
uint64_t CountSamples(std::span<const SampleRun> runs);

// The ledger takes back what a member was given: handed out first in the next round.
void ReturnSamples(std::span<const SampleRun> runs, LedgerState& ledger);

// What a member was given counts as dropped instead of used.
void DropSamples(std::span<const SampleRun> runs, LedgerState& ledger);

// Epochs that are over once no further batch of `global_batch` fits.
uint64_t EpochsDone(const LedgerState& ledger, uint64_t train_samples, uint64_t global_batch);

// Samples of begun epochs that nobody has used and that were not dropped.
uint64_t UnusedSamples(const LedgerState& ledger, uint64_t train_samples);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_LEDGER_H_
