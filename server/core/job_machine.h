// The coordinator's decisions: events in, records and messages out. Pure: no lock, no log, no
// clock, no I/O; the same events at the same times give the same effects.
//
//   streams, timers ──event, now──▶ JobMachine ──records──▶ journal (on disk first)
//                                              └─effects──▶ streams (only then)
//
// It is put together from the parts beside it: start (when the first group forms), membership (who
// is a candidate, away, lost), round (one order to its commit), ledger (which samples), policy and
// schedule (how long, at which rates). Threads: one caller at a time; the runtime holds the lock.
#ifndef RONDO_SERVER_CORE_JOB_MACHINE_H_
#define RONDO_SERVER_CORE_JOB_MACHINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/collective.h"
#include "server/core/discipline.h"
#include "server/core/history.h"
#include "server/core/messages.h"
#include "server/core/policy.h"
#include "server/core/records.h"
#include "server/core/schedule.h"

namespace rondo::server {

// All limits on waiting, as flags or job keys set them.
struct MachineLimits {
  absl::Duration heartbeat = absl::Seconds(1);
  absl::Duration silent = absl::Seconds(5);  // Then a stream is closed.
  absl::Duration lost = absl::Seconds(10);   // Then an absent worker is lost and its name free.
  absl::Duration return_wait =
      absl::Milliseconds(500);  // At a border, for a member whose stream broke.
  absl::Duration assemble = absl::Seconds(60);
  absl::Duration collective_min = absl::Seconds(30);
  absl::Duration abort = absl::Seconds(10);  // A worker that is told to stop stops, or exits.
  absl::Duration report =
      absl::Seconds(1);  // For the others' reports once a contributor dropped out.
  absl::Duration save = absl::Seconds(600);
  absl::Duration evaluate = absl::Hours(1);
  // A training loop that has not moved for the larger of this and 20 steps drops out.
  absl::Duration stall = absl::Seconds(60);
  // Without a holder of the state, while one may come back; then the job goes back to a checkpoint.
  absl::Duration rewind_after = absl::Seconds(300);
  absl::Duration give_up = absl::ZeroDuration();  // Below workers.min; zero: wait for ever.
  uint32_t attempts_max = 5;                      // Of one round within a term.
  uint32_t not_finite_max = 3;  // Rounds in a row, then a worker is told to leave.
  DisciplinePolicy discipline;
};

// What the machine must know of the job; the runtime translates it from the frozen Job
// (runtime/job_config).
struct MachineConfig {
  std::string job_id;
  Term term;
  // Its `steps` is T. With `epochs` it may be 0 here: it follows from the first prepared worker's
  // number of samples, and what is given here must agree with it.
  ScheduleConfig schedule;
  PolicyConfig policy;
  uint64_t epochs = 0;        // 0: the job gives steps.
  uint64_t batch_global = 0;  // One of the two is 0.
  uint64_t batch_per_worker = 0;
  bool shuffle = false;
  Device device = Device::kCpu;
  CollectiveConfig collective;
  uint64_t workers_min = 1;
  uint64_t workers_max = 1;
  // The first group forms when exactly so many are ready, whatever min, max and wait say; 0: by
  // them.
  uint64_t workers_at_start = 0;
  // No process of an earlier term lives: nobody is waited for that was in its group.
  bool fresh_workers = false;
  std::set<std::string> gone_workers = {};  // Or, of these names, none.
  absl::Duration wait = absl::Seconds(30);
  uint64_t evaluate_every_epochs = 0;  // 0: only at the end, when there is a test set.
  uint64_t evaluate_every_steps = 0;
  bool has_test_set = false;
  bool has_accuracy = true;             // The targets are classes.
  uint64_t checkpoint_every_steps = 0;  // 0: only at the end.
  uint64_t checkpoint_keep = 3;
  bool partials = false;  // Within local rounds that are longer than checkpoint_every_steps.
  // 128 bits from the system's random source, made at each start: the tokens of the workers' data
  // plane follow from them.
  std::array<uint64_t, 2> token_seed = {};
  MachineLimits limits;
};

// ------------------------------------------------------------------------------------------- in

struct StreamOpened {
  StreamId stream;
};
struct StreamClosed {
  StreamId stream;
  std::string why = {};  // As far as the edge knows.
};
struct Received {
  StreamId stream;
  WorkerMessage message;
};
// The edge could not parse what came: the sender is refused with this text.
struct Malformed {
  StreamId stream;
  std::string text;
};
// The time that `wake_at` asked for has come (early and spurious calls are harmless).
struct TimerFired {};
// A user, or SIGTERM to the coordinator: end at the next border, save, let everybody go.
struct StopRequested {
  std::string reason;
};
// A user: rest at the next border, keep all workers, until resumed; also over a restart.
struct PauseRequested {
  std::string reason;
};
struct ResumeRequested {};
// A user: this worker finishes its order and leaves after the commit.
struct DrainRequested {
  std::string worker;
};
// A user: a checkpoint at the next border.
struct CheckpointRequested {};
// The checkpoint store wrote, or could not write, the manifest that CompleteCheckpoint asked for.
struct CheckpointCompleted {
  uint64_t step = 0;
  bool ok = false;
  std::string text;
};

// Answers LookForPartials: the newest step for which every worker named has one.
struct PartialsFound {
  RoundId round;
  std::optional<uint64_t> step;
};

enum class CheckpointCondition {
  kGood,     // As far as it was looked at.
  kDamaged,  // Its folder can be read, and the checkpoint in it is incomplete, damaged or another.
  kAway,     // Its folder is not there or cannot be read just now: nothing is known.
};

// Answers LookForCheckpoint. `text`: what is wrong, for people.
struct CheckpointFound {
  uint64_t step = 0;
  CheckpointCondition condition = CheckpointCondition::kGood;
  std::string text;
};

using Event = std::variant<StreamOpened, StreamClosed, Received, Malformed, TimerFired,
                           StopRequested, CheckpointCompleted, PauseRequested, ResumeRequested,
                           DrainRequested, CheckpointRequested, PartialsFound, CheckpointFound>;

// ------------------------------------------------------------------------------------------- out

struct Send {
  StreamId stream;
  CoordinatorMessage message;
};
// Close after what was sent before is flushed.
struct CloseStream {
  StreamId stream;
  std::string reason;  // Empty: the last message said it, the stream ends well.
};
// All parts are in: write the manifest, answer with CheckpointCompleted.
struct CompleteCheckpoint {
  RoundId round;
  uint64_t step = 0;
  uint64_t state_hash = 0;
  struct Part {
    std::string worker;
    SavedFile file;
  };
  std::vector<Part> parts;
  LedgerState ledger;
};
// The job is over and everybody was told: the process ends with this code once the streams are
// closed.
struct Finish {
  int exit_code = 0;
  std::string reason;
};

// The journal's newest checkpoint is that of step `newest` (0: there is none). Those of later steps
// were undone, or never recorded; of the others only so many stay as the job keeps.
struct TrimCheckpoints {
  uint64_t newest = 0;
  // Whose processes may be writing to a shared folder; what others have left there is of no use.
  std::vector<std::pair<std::string, Incarnation>> alive = {};
};

// Which partials of this round are there? Answered with PartialsFound.
struct LookForPartials {
  RoundId round;
  std::vector<std::string> workers;
};

// What has become of the checkpoint that the job may go back to? Answered with CheckpointFound.
struct LookForCheckpoint {
  uint64_t step = 0;
  RoundId round;
  uint64_t state_hash = 0;
  bool whole = false;  // Every byte is read, since workers could not use it; else only sizes count.
};

using Effect = std::variant<Send, CloseStream, CompleteCheckpoint, Finish, TrimCheckpoints,
                            LookForPartials, LookForCheckpoint>;

// What becomes of a user's request.
struct SteerAnswer {
  bool done = false;  // It is so already; else it will be, as `text` says.
  uint64_t step = 0;  // The border that it is about: steps done there.
  std::string text;   // For the user, without a full stop.
};

struct Effects {
  std::vector<Record>
      records;  // On disk before any of `effects`, and before those of every later event.
  std::vector<Effect> effects;  // In order.
  // To a user's request, and to nothing else. It leaves once `records` are on disk. Errors:
  // NotFound: no such worker; FailedPrecondition: not in this state of the job.
  std::optional<absl::StatusOr<SteerAnswer>> answer;
  // Earliest time at which TimerFired is wanted; InfiniteFuture: none. Replaces the former wish.
  absl::Time wake_at = absl::InfiniteFuture();
};

// ------------------------------------------------------------------------------------------- views

enum class JobState { kWaiting, kRunning, kPaused, kEnding, kDone, kStopped, kFailed };

struct StatusView {
  Term term;
  JobState state = JobState::kWaiting;
  std::string reason;
  GroupId group;
  RoundId open_round;
  RoundId committed_round;
  uint64_t step = 0;
  uint64_t live_step = 0;
  uint64_t total_steps = 0;
  uint64_t syncs = 0;
  uint32_t checksum = 0;
  double last_loss = 0;
  double learning_rate = 0;
  uint64_t next_length = 0;
  absl::Time started_at = absl::InfinitePast();
  double samples_per_second = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_sent_if_parallel = 0;
  double step_seconds = 0;
  double reduce_seconds = 0;
  double control_seconds = 0;
  double evaluate_seconds = 0;
  std::optional<EvaluationRecord> last_evaluation;
  std::vector<std::string> members;  // Of the live group, those that are here; rank order.
  uint64_t parameters = 0;
  uint64_t samples_dropped = 0;
  std::optional<uint64_t> checkpoint_step;
  CollectiveDecision collective;     // Of the open round, else of the next.
  std::string collective_text;       // Of kind auto.
  double residual_norm_squared = 0;  // Of all residuals together, as last reported.
  // So many were zeroed before they were delivered; at the end also those that are left.
  uint64_t residuals_undelivered = 0;
};

enum class WorkerState { kPreparing, kCandidate, kMember, kAway, kLost, kLeft, kRefused };

struct WorkerRow {
  std::string name;
  Incarnation incarnation;
  WorkerState state = WorkerState::kPreparing;
  std::string text;
  int rank = -1;
  std::string host;
  int64_t pid = 0;
  Device device = Device::kCpu;
  Progress progress;
  absl::Time last_heard;
};

// Whether this program goes on with `history` as the one that wrote it: the rates of its open order
// must come out the same. Errors: FailedPrecondition (the process is to end with 3).
absl::Status CheckHistory(const MachineConfig& config, const History& history);

class JobMachine {
 public:
  // Begins the term: Start() gives its first records. `history`: what the journal says so far, and
  // has passed CheckHistory; the config's term is the one after its. A job that was stopped or has
  // failed goes on. If it is done nothing is journaled: members that come back are told, then it
  // finishes.
  explicit JobMachine(MachineConfig config, History history = {});
  ~JobMachine();
  JobMachine(const JobMachine&) = delete;
  JobMachine& operator=(const JobMachine&) = delete;

  Effects Start(absl::Time now);
  // Never fails: what the rules forbid is answered to the sender (Refuse) or dropped.
  Effects Handle(const Event& event, absl::Time now);

  StatusView status(absl::Time now) const;
  std::vector<WorkerRow> workers() const;  // By name.

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_JOB_MACHINE_H_
