// What the journal holds: the job's history as plain values, in the order of decisions. The core
// makes them, the runtime puts them on disk before any message that was decided with or after them
// leaves, and a later term reads them back.
#ifndef RONDO_SERVER_CORE_RECORDS_H_
#define RONDO_SERVER_CORE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace rondo::server {

// A life of the coordinator begins, or goes on in another term because a worker came from another
// history: with numbers of which this journal knows nothing.
struct TermRecord {
  Term term;
  absl::Time at;
  uint64_t life = 0;                // Random; the same in all terms of one life.
  std::optional<Seen> beyond = {};  // Set for the latter: groups and rounds go on beyond these.
};

// The first prepared worker's facts, and T, which follows from them.
struct ReferenceRecord {
  Facts facts;
  uint64_t total_steps = 0;
};

// A group may be used once this is on disk. Numbers are never reused.
struct GroupRecord {
  GroupId group;
  Purpose purpose = Purpose::kStart;
  std::vector<Member> members;  // Rank order.
  absl::Time at;
};

// The cursor and what is owed: position of the next unused sample and the runs that were handed out
// and not delivered.
struct LedgerState {
  uint64_t epoch = 0;
  uint64_t position = 0;  // Within the epoch's order.
  std::vector<SampleRun> returned;
  uint64_t samples_used = 0;
  uint64_t samples_dropped = 0;
};

// What a round's steps under earlier orders came to, where a failed step made it go on under
// another one (parallel mode's repair).
struct RoundSoFar {
  uint64_t steps = 0;                     // Done under earlier orders.
  LedgerState ledger;                     // After them: the order's samples were taken from it.
  uint64_t samples = 0;                   // Of contributors that were finite.
  std::vector<std::string> contributors;  // Whose gradients went in; sorted.
  uint64_t loss_steps = 0;                // Of how many steps the loss is known.
  double loss_sum = 0;                    // Over those, of their batches' mean loss.
  uint32_t orders = 0;
};

// An order as issued, with all that a later term needs to take the round up. `rates_hash`:
// StateHash-like sum over the rates' bits, so that a restarted coordinator can tell whether it
// computes the same ones. The members are those of `group`.
struct OrderRecord {
  RoundId round;
  GroupId group;
  RoundMode mode = RoundMode::kLocal;
  Collective collective = Collective::kRing;
  double density = 0;
  uint64_t first_step = 0;
  uint64_t length = 0;
  double rate_first = 0;
  uint64_t rates_hash = 0;
  std::vector<std::vector<SampleRun>> runs;  // By rank.
  std::vector<uint64_t> batches;             // By rank: samples of a step.
  uint64_t tail_dropped = 0;                 // Samples left over at ends of epochs.
  LedgerState after;                         // If every member delivers.
  uint64_t base_hash = 0;                    // Of the state that the round starts from.
  bool evaluation_due = false;
  bool save_due = false;
  // Set in an order that goes on with a round; its ledger is else that of the last commit.
  std::optional<RoundSoFar> so_far;
  absl::Time at;
};

// A residual that is not zero, as last reported.
struct ResidualNorm {
  std::string worker;
  double norm_squared = 0;
};

// The decision that a round's result is the job's state. Everything that `rondo rounds` shows is
// here.
struct CommitRecord {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
  uint32_t attempts = 1;
  RoundMode mode = RoundMode::kLocal;
  uint64_t first_step = 0;
  uint64_t length = 0;
  double rate_first = 0;
  uint64_t state_hash = 0;
  double mean_loss = 0;
  double parameter_norm_squared = 0;
  double residual_norm_squared = 0;
  std::vector<std::string> members;       // Who was in the group, rank order.
  std::vector<std::string> contributors;  // Whose work is in it.
  uint64_t samples = 0;
  uint64_t bytes_sent = 0;
  double step_seconds = 0;
  double reduce_seconds = 0;
  double control_seconds = 0;
  double seconds = 0;
  LedgerState ledger;
  absl::Time at;
  Collective collective = Collective::kRing;
  double density = 0;
  // By phase: bytes and calls of all contributors together, the slowest one's seconds.
  std::vector<PhaseCost> costs = {};
  // Sums over contributors; of what is alike on all, one's. Absent when dense.
  std::optional<SparseStats> sparse = {};
  uint64_t largest_region = 0;  // Entries of the contributor that received most for its region.
  // Of those that hold the result, or may.
  std::vector<ResidualNorm> residuals = {};
  // That costs, sparse and reduce_seconds are of: fewer than the round's where a step failed.
  uint64_t reductions = 0;
};

struct EvaluationRecord {
  RoundId round;
  uint64_t step = 0;
  double loss = 0;
  std::optional<double> accuracy = {};  // 0 to 1; absent where targets are no classes.
  uint64_t count = 0;
  double seconds = 0;
};

// The open round is given up: nobody can carry it. Its samples return, its number is not used
// again.
struct VoidRecord {
  RoundId round;
  std::string reason;
};

// A complete checkpoint: its manifest is on disk.
struct CheckpointRecord {
  RoundId round;
  uint64_t step = 0;
  uint64_t state_hash = 0;
  std::vector<std::string> local_files = {};  // Names of the workers that have one in it.
};

// The job goes back to the checkpoint of `to_round` (0: to step 0): later rounds are undone,
// numbers are not used again.
struct RewindRecord {
  RoundId to_round;
  uint64_t to_step = 0;
  RoundId first_undone;  // The oldest round that is undone; 0: none was committed since.
  std::string reason;
  absl::Time at;
};

// The kind of a notice that says whose optimizer moments began at zero (rule 15).
inline constexpr std::string_view kMomentsZeroed = "moments_zeroed";

// The kind of a notice that says whose residual was not delivered and is zero now (rule 9).
inline constexpr std::string_view kResidualZeroed = "residual_zeroed";

// The kind of a notice that says which collective was chosen, and why.
inline constexpr std::string_view kCollectiveChosen = "collective_chosen";

// One line of history for people: kind in snake_case, text in words; the rest for programs.
struct NoticeRecord {
  absl::Time at;
  std::string kind;
  std::string text;
  RoundId round = {};                // That was open; 0: none.
  std::string worker = {};           // Whom it is about; empty: nobody, or several.
  double seconds = 0;                // That what it tells of has taken; 0: nothing to tell.
  double residual_norm_squared = 0;  // kResidualZeroed: as last reported.
};

enum class RequestKind { kPause, kResume, kDrain, kCheckpoint };

// What a user asked for and was promised; a later term keeps the promise.
struct RequestRecord {
  RequestKind kind = RequestKind::kPause;
  std::string reason;       // kPause: in the user's words.
  std::string worker;       // kDrain: who is to go,
  Incarnation incarnation;  // and its process.
  absl::Time at;
};

enum class EndState { kDone, kStopped, kFailed };

struct EndRecord {
  EndState state = EndState::kDone;
  std::string reason;
  uint64_t step = 0;
  uint64_t syncs = 0;
  uint32_t checksum = 0;
  uint64_t samples_unused = 0;
  absl::Time at;
  // Residuals never delivered: those zeroed in the course of the run and those left at its end.
  uint64_t residuals_undelivered = 0;
  double residual_norm_squared = 0;  // Sum over them, as last reported.
};

using Record = std::variant<TermRecord, ReferenceRecord, GroupRecord, OrderRecord, CommitRecord,
                            VoidRecord, EvaluationRecord, CheckpointRecord, NoticeRecord, EndRecord,
                            RewindRecord, RequestRecord>;

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_RECORDS_H_
