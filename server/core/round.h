// One round: its order, who is ready, the attempts at its reduce, the commit. Plain values and pure
// functions over them; job_machine decides when.
#ifndef RONDO_SERVER_CORE_ROUND_H_
#define RONDO_SERVER_CORE_ROUND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/ledger.h"
#include "server/core/messages.h"
#include "server/core/policy.h"
#include "server/core/records.h"
#include "server/core/schedule.h"

namespace rondo::server {

// A member of the order's group. It keeps its part of the order through all attempts.
struct RoundMember {
  std::string name;
  Incarnation incarnation;
  std::vector<SampleRun> runs;
  uint64_t batch = 0;  // Samples of a step.
  std::optional<Ready> ready = {};
  bool carries = false;  // The order was sent to it, or it says that it has it.

  // Parallel mode.
  // Its next step, once its order has broken off there or is done.
  std::optional<uint64_t> stands_at = {};
  bool finite = true;  // In the steps of this order that are done, as far as it has said.
  uint64_t loss_steps = 0;
  double loss_sum = 0;  // Over loss_steps of them.
  bool out = false;     // It takes no part in this round any more: it stands elsewhere, or is mute.
};

// What a contributor said about the open attempt. Neither: nothing yet, or it dropped out.
struct Contribution {
  size_t member = 0;  // Index in Round::members.
  double weight = 0;  // 0: not finite, or no samples.
  std::optional<ReduceFacts> reduced = {};
  std::optional<Failed> failed = {};
};

// An attempt to reduce (local), or the steps themselves (parallel: attempt 0, Ready is the report).
struct Attempt {
  uint32_t number = 0;
  GroupId group;
  std::vector<Contribution> contributions = {};  // Rank order of `group`.
  absl::Time deadline = absl::InfiniteFuture();
  // Once one has failed or dropped out: how long the others have to report.
  absl::Time report_by = absl::InfiniteFuture();
};

// A failed step has ended an order of a parallel round: who says where it stands, and what is
// known.
struct Break {
  absl::Time at;
  std::string why;
};

struct Round {
  RoundId id;
  GroupId group;  // The order's; a retry's group has another number.
  RoundMode mode = RoundMode::kLocal;
  Collective collective = Collective::kRing;
  double density = 0;
  // Of the open order. The round began so_far.steps earlier.
  uint64_t first_step = 0;
  uint64_t length = 0;
  RoundSoFar so_far;
  std::vector<double> rates;
  double rate_first = 0;             // Of the round's first step.
  std::vector<RoundMember> members;  // Rank order of `group`.
  uint64_t tail_dropped = 0;
  LedgerState after;       // If every member delivers.
  uint64_t base_hash = 0;  // Of the state that it starts from.
  bool evaluation_due = false;
  bool save_due = false;
  bool adopted = false;  // From the journal, by a later term.
  absl::Time ordered_at;
  absl::Time missed_at = absl::InfiniteFuture();  // All who can are ready since then.
  uint32_t attempts = 0;                          // So far.
  uint32_t splits = 0;                            // Attempts whose results differed.
  std::vector<std::string> causes;                // Of failed attempts, in words.
  std::optional<Attempt> attempt;
  std::optional<Break> broken;
  uint32_t breaks = 0;  // In a row, without a step done in between.

  RoundMember* Find(const std::string& name, Incarnation incarnation);
  const RoundMember* Find(const std::string& name, Incarnation incarnation) const;
};

// As far as it has said: who says nothing is taken to be.
bool IsFinite(const RoundMember& member);

struct OrderRequest {
  RoundId round;
  GroupId group;
  std::vector<Member> members;
  uint64_t step = 0;  // The round's first.
  Collective collective = Collective::kRing;
  double density = 0;
  uint64_t train_samples = 0;
  uint64_t global_batch = 0;
  LedgerState ledger;
};

// Gives `round` its open order, of the steps from first_step on: their rates, and to `members` the
// samples that so_far.ledger has next. `request` is of round.length steps and of these members.
// Errors: as DecideShare; `round` is then as it was.
absl::Status DealOrder(const ScheduleConfig& schedule, const ShareRequest& request,
                       const std::vector<Member>& members, Round& round);

// The policy's next round over `members`; due flags, times and attempts are the caller's.
// Errors: as DecideShare.
absl::StatusOr<Round> DecideOrder(const PolicyConfig& policy, const ScheduleConfig& schedule,
                                  const OrderRequest& request);

Order OrderFor(const Round& round, size_t rank);
OrderRecord RecordOf(const Round& round, absl::Time now);
// The round of an earlier term's order, before its first attempt in this one. `committed`: the
// ledger of the last commit. `record` has passed CheckRates.
Round AdoptRound(const OrderRecord& record, const std::vector<Member>& members,
                 const LedgerState& committed, const ScheduleConfig& schedule);
// Whether `schedule` gives the rates that the order was issued with. Errors: FailedPrecondition.
absl::Status CheckRates(const OrderRecord& record, const ScheduleConfig& schedule);
Reduce ReduceOf(const Round& round);  // Of the open attempt.

// A hash of the rates' bits: the sum over i of Mix64(bits(rate_i) + i * 0x9E3779B97F4A7C15), mod
// 2^64.
uint64_t HashRates(const std::vector<double>& rates);

// The open attempt's result with `hash` is committed: what the journal says of it. `members`: the
// order's names. The ledger takes back what members outside the attempt were given; what
// contributors that are not finite were given is dropped.
CommitRecord DecideCommit(const Round& round, uint64_t hash, absl::Time now);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_ROUND_H_
