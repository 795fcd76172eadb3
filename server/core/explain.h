// What became of one round, and why: the answer to "why so long, why these members, why twice, what
// did it cost", told from the journal's records alone. Pure.
#ifndef RONDO_SERVER_CORE_EXPLAIN_H_
#define RONDO_SERVER_CORE_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/collective.h"
#include "server/core/comm_stats.h"
#include "server/core/explain_length.h"
#include "server/core/policy.h"
#include "server/core/records.h"
#include "server/core/schedule.h"

namespace rondo::server {

enum class RoundFate { kOpen, kCommitted, kVoided, kUndone };

enum class ChangeKind {
  kJoined,    // It was not in the round before and took the state from a member.
  kTookOver,  // It missed a result and took what it lacked from a member.
  kGone,      // It was in the round before and had no part in this one.
  kDropped,   // It had the order and is not in the result.
};

struct MemberChange {
  std::string worker;
  ChangeKind kind = ChangeKind::kJoined;
  std::string text;  // Why; of kGone and kDropped what notices tell, empty if none does.
  absl::Time at = absl::InfinitePast();  // InfinitePast: not known.
};

// Something that had to be done again: an attempt, a group, a step, a save.
struct Repetition {
  std::string kind;  // That of the notice.
  std::string text;
  absl::Time at;
  double seconds = 0;  // Spent on what failed; 0: not known.
};

struct WorkerSamples {
  std::string worker;
  uint64_t count = 0;
};

struct RoundSamples {
  uint64_t used = 0;                      // In the result.
  std::vector<WorkerSamples> returned;    // Not delivered: they are handed out again.
  std::vector<WorkerSamples> not_finite;  // Dropped: that worker's result was not finite.
  uint64_t tail_dropped = 0;              // Left over at the end of an epoch.
};

// Seconds. Of a round that is not committed all but `before` are 0.
struct RoundCost {
  double total = 0;            // From order to commit.
  double steps = 0;            // The slowest member's.
  double reduce = 0;           // The slowest member's, of the attempt that succeeded.
  double control = 0;          // The rest: messages, barriers, fsync, failed attempts, waits.
  double before = 0;           // From the commit before (or the term's begin) to the order.
  double evaluate_before = 0;  // Part of `before`.
};

struct RoundStory {
  RoundId round;
  RoundFate fate = RoundFate::kOpen;
  std::string fate_text;  // Why it was given up or undone.
  GroupId group;          // That got the (first) order.
  uint64_t first_step = 0;
  LengthExplanation length;
  Collective collective = Collective::kRing;
  double density = 0;                   // Of a sparse one.
  std::string collective_text;          // Why this one, in words; empty: the job asks for the ring.
  std::optional<SparseSummary> sparse;  // Of a commit.
  uint64_t orders = 1;                  // Groups that worked on it one after the other.
  std::vector<std::string> members;     // Of the last order, rank order.
  std::vector<std::string> contributors;  // Whose work is in the result; empty: not committed.
  std::vector<MemberChange> changes;
  uint32_t attempts = 0;  // Reductions tried; 0: none yet.
  std::vector<Repetition> repeats;
  RoundSamples samples;
  RoundCost cost;
  std::vector<NoticeRecord> notices;  // From the commit before to this one.
};

struct ExplainConfig {
  PolicyConfig policy;
  ScheduleConfig schedule;  // With T.
  CollectiveConfig collective = {};
};

// `records`: in the order of decisions; at least the groups of the round's orders, and all from the
// last commit but one before the round to its own (who was lost in the round before is gone in this
// one). What lies further away is ignored, but for a rewind that undoes the round and the event of
// a choice between collectives before it.
// Errors: NotFound if no order of the round is among them.
// Cost: one pass over the records.
absl::StatusOr<RoundStory> ExplainRound(const ExplainConfig& config,
                                        std::span<const Record> records, RoundId round);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_EXPLAIN_H_
