// What a journal says, folded record by record: where the job stands. A new term begins from it,
// the running machine keeps it up to date with each record that it writes, and replay and explain
// walk through it. Pure.
#ifndef RONDO_SERVER_CORE_HISTORY_H_
#define RONDO_SERVER_CORE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/collective.h"
#include "server/core/messages.h"
#include "server/core/plan.h"
#include "server/core/policy.h"
#include "server/core/records.h"

namespace rondo::server {

// The job's state as of a commit (round 0: before the first).
struct CommittedState {
  RoundId round;
  uint64_t step = 0;
  uint64_t state_hash = 0;
  LedgerState ledger;
  uint64_t syncs = 0;
  RoundChecksum checksum;
  std::vector<Member> contributors;  // Whose steps are in it.
  double step_seconds = 0;           // One step's, of the slowest member.
  double reduce_seconds = 0;
  // By worker: squared norms of residuals that are not zero, as last reported (rule 9).
  std::map<std::string, double> residuals;
  RoundMode mode = RoundMode::kLocal;     // Of the last commit: residuals are of gradients, or of
                                          // changes of the parameters.
  uint64_t residuals_lost = 0;            // Zeroed before they were delivered,
  double residual_lost_norm_squared = 0;  // and the sum of those.
};

// What names a staged result.
struct CommitKey {
  GroupId group;
  uint32_t attempt = 0;
  uint64_t state_hash = 0;
};

// Sums over the whole run, rounds that were undone later included.
struct JobTotals {
  absl::Time started_at = absl::InfinitePast();  // The first order.
  uint64_t bytes_sent = 0;
  uint64_t bytes_if_parallel = 0;
  double step_seconds = 0;
  double reduce_seconds = 0;
  double control_seconds = 0;
  double evaluate_seconds = 0;
  double last_loss = 0;
  std::optional<EvaluationRecord> last_evaluation;
  std::optional<uint64_t> checkpoint_step;
};

// So many commits and checkpoints are remembered, the newest ones. Who missed more commits counts
// as one that holds nothing.
inline constexpr size_t kCommitsKept = 1'000;
inline constexpr size_t kCheckpointsKept = 100;

// A complete checkpoint.
struct KeptCheckpoint {
  CommittedState state;
  // Whose own file in it may be used: after a rewind to it only those of the first group's members
  // (rule 21).
  std::vector<std::string> local_files;
};

struct History {
  Term term;                       // The newest; 0: nothing has happened.
  std::map<Term, uint64_t> lives;  // Whose terms they were.
  std::optional<ReferenceRecord> reference;
  GroupId last_group;  // Numbers only grow, over voids and rewinds too.
  RoundId last_round;
  std::optional<GroupRecord> group;  // The newest; it may never have formed.
  std::optional<OrderRecord> open;   // Ordered, neither committed nor voided nor undone.
  std::vector<Member> open_members;  // Those of its group, by rank.
  CommittedState committed;
  std::map<RoundId, CommitKey> commits;           // Not undone.
  std::map<RoundId, KeptCheckpoint> checkpoints;  // Not undone.
  bool rewound = false;  // Since the last rewind no order was given: the state is in its files.
  // Members of groups since the last rewind, until the next commit: nobody else can hold the state
  // that the job went back to, whatever it says. By name, the newest incarnation.
  std::map<std::string, Incarnation> restored;
  bool evaluation_pending = false;  // Due at the border after the last commit.
  bool save_pending = false;
  std::optional<std::string> pause;  // A user's reason to rest at the next border.
  // Who was asked to go; a later incarnation that a group takes in is welcome.
  std::map<std::string, Incarnation> drains;
  CollectiveTrials trials;  // Also of rounds that were undone.
  JobTotals totals;
  std::optional<EndRecord> end;  // The run has ended, and no later term has begun.
};

// Folds the next record into `history`. `record` must pass CheckNext.
void Apply(const Record& record, History* history);

// Whether `record` can come after `history`: numbers only grow, a commit is of the open round and
// goes on where the last one ended. Errors: DataLoss says what does not fit.
absl::Status CheckNext(const Record& record, const History& history);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_HISTORY_H_
