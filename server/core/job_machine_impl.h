// The state behind JobMachine. Private to job_machine_*.cc, one file a part of the job's life:
//   job_machine          events in, effects out, the turn of the phases
//   job_machine_arrival  streams, Hello, Prepared, who is refused or let go
//   job_machine_absence  streams that break, who is silent, back or lost
//   job_machine_restart  a later term takes up the journal
//   job_machine_fork     a worker comes from another history: the journal is an old copy
//   job_machine_partial  a long round goes on after a total restart
//   job_machine_rewind   nobody holds the state: back to a checkpoint
//   job_machine_checkpoint  whether that checkpoint can be used
//   job_machine_discipline  who stands still, is sick, dies again and again, or wants to leave
//   job_machine_group    the border: who goes on, assembling the group
//   job_machine_round    order, ready, reduce, commit
//   job_machine_parallel the parallel round, to its border
//   job_machine_repair   a parallel round whose step has failed
//   job_machine_residual whose residual was lost
//   job_machine_end      evaluation, checkpoint, the end
//   job_machine_steer    what users ask for: pause, drain, checkpoint, stop
//   job_machine_views    what users see
#ifndef RONDO_SERVER_CORE_JOB_MACHINE_IMPL_H_
#define RONDO_SERVER_CORE_JOB_MACHINE_IMPL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/assembly.h"
#include "server/core/due.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/core/membership.h"
#include "server/core/plan.h"
#include "server/core/residuals.h"
#include "server/core/round.h"
#include "server/core/vote.h"

namespace rondo::server {

// Each event is applied to the state, then the phases take their turns until none moves. A phase
// that waits says until when (WakeAt), each time it is asked.
class JobMachine::Impl {
 public:
  Impl(MachineConfig config, History history);

  Effects Start(absl::Time now);
  Effects Handle(const Event& event, absl::Time now);
  StatusView status(absl::Time now) const;
  std::vector<WorkerRow> workers() const;

 private:
  JobState StateInWords() const;
  uint64_t LiveStep() const;

  enum class Phase {
    kBorder,      // No round is open: who goes on, and with what?
    kAssembling,  // `assembly_` is being formed.
    kTraining,    // `round_` is open, members do its steps.
    kReducing,    // An attempt of `round_` is open (local mode).
    kEvaluating,  // `evaluation_` is open.
    kSaving,      // `save_` is open.
    kCompleting,  // The manifest is being written.
    kOver,
  };

  struct Evaluation {
    absl::Time began;
    std::vector<std::optional<Evaluated>> shares;  // By rank of `group_`.
  };
  struct Save {
    absl::Time began;
    std::vector<std::optional<Saved>> parts;  // By rank of `group_`.
    std::vector<SaveNow> asked;
    std::vector<std::string> names;
    std::optional<std::string> failure;
  };
  // Events.
  void On(const StreamOpened& event);
  void On(const StreamClosed& event);
  void On(const Received& event);
  void On(const Malformed& event);
  void On(const TimerFired&) {}
  void On(const CheckpointCompleted& event);
  void On(const PartialsFound& event);
  void On(const CheckpointFound& event);
  void On(const StopRequested& event);
  void On(const PauseRequested& event);
  void On(const ResumeRequested& event);
  void On(const DrainRequested& event);
  void On(const CheckpointRequested& event);

  // Messages of a worker on its present stream and of this term.
  void On(Worker&, const Hello&) {}  // A duplicate.
  void On(Worker& worker, const Prepared& message);
  void On(Worker& worker, const Endpoint& message);
  void On(Worker& worker, const Formed& message);
  void On(Worker& worker, const Progress& message);
  void On(Worker& worker, const Ready& message);
  void On(Worker& worker, const Reduced& message);
  void On(Worker& worker, const Failed& message);
  void OnFailedStep(Worker& worker, const Failed& message);
  void OnFailedParallel(RoundMember& member, const Failed& message, const std::string& text);
  void On(Worker& worker, const Evaluated& message);
  void On(Worker& worker, const Saved& message);
  void On(Worker& worker, const SaveFailed& message);
  void On(Worker& worker, const Leave& message);

  // Arrival.
  void OnHello(StreamId stream, const std::string& job_id, const Hello& hello);
  void TellToWait(StreamId stream, const Hello& hello, Wait wait);
  void WelcomeWorker(Worker& worker, StreamId stream, const Hello& hello);
  void TakeStream(Worker& worker, StreamId stream, const Hello& hello);
  std::vector<StagedFate> AdoptState(Worker& worker, const Returning& returning, bool foreign);
  bool IsOdd(const StagedResult& staged) const;
  void SayOddOneOut(Worker& worker, const StagedResult& staged);
  bool WasRestored(const Worker& worker, const Returning& returning) const;
  OrderFate AdoptOrder(Worker& worker, const Returning& returning);
  OrderFate AdoptParallelOrder(Worker& worker, RoundMember& member, const Returning& returning);
  void SendUnanswered(Worker& worker);
  bool AcceptReference(Worker& worker, const Facts& facts);
  std::string ResolveSteps(const Facts& facts);  // What is wrong, or empty.
  void RefuseWorker(Worker& worker, RefuseReason reason, std::string text);
  void LetGo(Worker& worker, Goodbye goodbye);
  void DropStream(Worker& worker, const std::string& why);
  void NoteReturn(const Worker& worker);
  void Lose(Worker& worker, const std::string& why);
  void ForgiveOwnSleep();
  void CheckStreams();

  // Discipline.
  void DropStalled(Worker& worker);
  void ExcludeSick();
  bool MakeWait(StreamId stream, const Hello& hello);
  std::string CoolingDown() const;
  void CheckLeaver(Worker& worker);
  bool CanFinishOrder(const Worker& worker, const Leave& leave) const;
  bool IsLastHolder(const Worker& worker) const;
  bool IsNamed(const Worker& worker) const;

  // A worker of another history, `foreign`.
  bool IsForeign(const Returning& returning) const;
  void MeetOtherHistory(const Worker& worker, const Seen& seen);
  void BeginBeyond(const Worker& comer, const Seen& seen);
  OrderFate RefuseForeignOrder(Worker& worker, const Returning& returning);
  bool HasLeftOrdersGroup(const Returning& returning) const;
  uint64_t Life() const;

  // A later term.
  void AdoptHistory(bool ended);
  void AdoptRound();
  void AwaitJournaledMembers();
  bool AwaitsReturn();
  void BeginFarewell(const EndRecord& end);

  // What a worker that is told that its loop stands still exits with: it could not end by itself.
  static constexpr uint32_t kExitStalled = 70;

  // Phases: true if the phase has changed.
  void Advance();
  bool AdvancePhase();
  bool AdvanceBorder();
  bool AdvanceAssembling();
  bool AdvanceTraining();
  bool AdvanceParallel();
  bool AdvanceReducing();
  bool AdvanceEvaluating();
  bool AdvanceSaving();
  void AdvanceOver();

  // Border and groups.
  bool Finishing() const;
  bool BeginFirstGroup();
  bool LetLeaversGo();
  bool HandingOver() const;
  bool BelowMinimum(size_t count);
  std::vector<Worker*> ChooseMembers();
  std::vector<Member> NeedsOf(const std::vector<Worker*>& members) const;
  // `step`: what Assemble says; by default the committed one.
  bool BeginGroup(Purpose purpose, std::vector<Member> members,
                  std::optional<uint64_t> step = std::nullopt);
  bool EndAssembly(std::string failure);
  bool FormedGroup();
  bool CheckFormed();
  void ReportGlobalBatch(size_t members);
  bool Holds(const Worker& worker) const { return worker.holds == committed_.round; }
  bool IsMember(const Worker& worker) const;
  // Until when a broken stream of these members is waited for; InfinitePast: of none.
  absl::Time AwaitMembers(const std::vector<Member>& members, absl::Time since);

  // Going back. Rewind: to the newest checkpoint that is not damaged. False: it is not known yet
  // which, the caller asks again.
  bool HolderIsHere() const;
  uint64_t CountCandidates() const;
  std::vector<std::string> AbsentHolders() const;
  bool WithoutHolder();
  std::string NameOfTarget() const;
  bool Rewind(const std::string& why);
  bool RewindTo(RoundId target, const std::string& why);
  bool RewindAfterSplit();
  // What is known of a checkpoint; nothing: it is being looked for, its folder is away, or the job
  // has ended (kOver).
  std::optional<CheckpointCondition> Inspect(const CommittedState& target, bool whole);
  bool WaitForCheckpoint(const CommittedState& target, const std::string& what);
  bool ReadAgainLater(const CommittedState& target);
  std::string UnreadInWords() const;
  void TrimCheckpointsKept();
  void ForgetUndone(uint64_t to_step);
  std::vector<Member> NeedsAtStart(const std::vector<std::string>& names) const;
  void OnFileFailure(const Member& member, const std::string& text);
  bool GoFurtherBack();

  // Partials of a long round.
  bool SaveBeforeLongRound() const;
  bool MayHavePartials() const;
  bool GoOnFromPartials(bool* moved);
  bool AwaitNames(const std::vector<std::string>& missing);
  bool GiveOrderAgain();

  // Rounds.
  bool BeginRound();
  bool BeginReduce();
  VoteResult CountVotes();
  bool DecideAttempt();
  bool AwaitReady();
  bool DecideParallel(bool some_away);
  bool FailNotFinite();
  std::vector<std::string> BreakCauses() const;
  void BreakOff(const std::vector<std::string>& causes);
  bool AdvanceBroken();
  bool FailedForGood();
  bool DecideBroken();
  bool BeginRepair();
  bool WaitForCarriers();
  bool FormedRepair();
  void TakeOut(RoundMember& member);
  void LeaveOut(RoundMember& member, const std::string& why);
  bool CheckStanding();
  std::optional<uint64_t> RepairedHash() const;
  bool CheckRepaired(uint64_t hash);
  bool ContinueRound();
  void IssueOrders();
  bool CommitRound(uint64_t hash);
  void CreditContributors(const CommitRecord& commit);
  void ReportCommit(const CommitRecord& commit);
  void TellLost(const std::vector<LostResidual>& lost);
  void TellLostInForming();
  bool AbortAttempt(bool split);
  void VoidRound(const std::string& why);
  absl::Duration CollectiveLimit() const;
  // Of a round that begins at the last commit.
  RoundMode NextMode() const;
  uint64_t GlobalBatch(size_t members) const;

  // Users' requests.
  absl::StatusOr<SteerAnswer> Pause(const std::string& reason);
  absl::StatusOr<SteerAnswer> Resume();
  absl::StatusOr<SteerAnswer> Drain(const std::string& name);
  absl::StatusOr<SteerAnswer> Checkpoint();
  absl::StatusOr<SteerAnswer> Stop(const std::string& reason);
  absl::Status CheckNotOver() const;
  absl::Status UnknownWorker(const std::string& name) const;
  uint64_t NextBorder() const;  // Its step.
  std::string Doubt() const;
  uint64_t NewestCheckpoint() const;  // Its step; 0: there is none.
  std::string WhenRoundEnds() const;
  std::string MinimumAfterDrains() const;
  bool Resting();
  bool Drains(const Worker& worker) const;
  // It leaves at a border: it said so, or a user did.
  bool Parting(const Worker& worker) const { return worker.leaving || Drains(worker); }
  void LetDrainedGo(Worker& worker);

  // End.
  Due DueAfter(const Round& round, uint64_t global_batch) const;
  bool BeginEvaluation();
  bool BeginSave();
  static Goodbye GoodbyeOf(EndState state, const std::string& reason);
  bool GiveUpSave(const std::string& why);
  bool EvaluationMissing() const;
  bool SaveMissing() const;
  bool StoppedEarly() const;
  bool EndFinished();
  bool End(EndState state, std::string reason);
  bool Fail(std::string reason) { return End(EndState::kFailed, std::move(reason)); }

  // Effects.
  void Say(const Worker& worker, CoordinatorBody body);
  void SayOn(StreamId stream, CoordinatorBody body);
  void Close(StreamId stream, std::string reason);
  // Writes the record down and folds it into `history_`: what it says holds from here on.
  void Journal(Record record);
  // `seconds`: what it tells of has taken so long.
  void Note(std::string kind, std::string text, std::string worker = "", double seconds = 0);
  void WakeAt(absl::Time at) { out_.wake_at = std::min(out_.wake_at, at); }
  bool Go(Phase phase);

  MachineConfig config_;
  absl::Time now_;
  Effects out_;                                      // Of the event in hand.
  absl::Time wanted_wake_ = absl::InfiniteFuture();  // What the last event's effects asked for.

  Roster roster_;
  // Processes that were told to wait and are not in the roster: until when their next Hello is
  // awaited, so that they hear of the job's end.
  std::map<std::pair<std::string, Incarnation>, absl::Time> waiting_;
  Discipline discipline_;
  std::map<StreamId, absl::Time> pending_;  // Streams without Hello: until when.
  std::string torch_version_;               // Of the first worker.
  uint32_t nccl_version_ = 0;
  std::optional<Facts> reference_;

  Phase phase_ = Phase::kBorder;
  absl::Time phase_since_ = absl::InfinitePast();
  std::string waits_for_;  // In words, for the status.
  std::optional<absl::Time> below_minimum_since_;
  std::optional<absl::Time> without_holder_since_;
  std::optional<std::string> stop_reason_;
  bool resting_ = false;  // Paused at a border, and it was noted.
  EndState end_state_ = EndState::kDone;
  std::string end_reason_;
  Goodbye end_goodbye_;
  bool finished_ = false;

  // What the journal says, the records of this event included.
  History history_;
  CommittedState& committed_ = history_.committed;
  std::vector<Member> awaited_;  // Of the journal's group, until all are back or lost.
  std::optional<Group> group_;   // Formed and not broken.
  std::optional<Assembly> assembly_;
  int assembly_failures_ = 0;  // In a row.
  bool grouped_ = false;       // This term has made a group.
  std::optional<Round> round_;
  uint64_t reported_batch_ = 0;
  uint64_t tail_reported_for_ = 0;  // The global batch whose tails were reported.
  bool& evaluation_pending_ = history_.evaluation_pending;
  bool& save_pending_ = history_.save_pending;
  std::optional<uint64_t> evaluated_step_;
  std::optional<uint64_t> saved_step_;
  std::optional<uint64_t> save_failed_step_;
  std::optional<PartialsFound> partials_;  // Of the open round, once looked for.
  bool partials_asked_ = false;            // The answer is to come.
  uint64_t split_step_ = 0;                // Where the members of a parallel round last differed,
  int splits_ = 0;                         // and how often there.
  // Who cannot use the files of the checkpoint that the job went back to, and what the last said.
  std::set<std::pair<std::string, Incarnation>> unreadable_for_;
  std::string unreadable_text_;
  // Of the checkpoints that the job may go back to, by step.
  struct Inspection {
    bool whole = false;
    bool asked = false;  // The answer is to come.
    std::optional<CheckpointCondition> condition = {};
    std::string text = {};
    absl::Time again = absl::InfinitePast();  // When it is to be looked at anew.
  };
  std::map<uint64_t, Inspection> inspections_;
  std::optional<absl::Time> no_checkpoint_since_;  // Waits for one that it can use.
  std::optional<absl::Time> unread_since_;         // Nobody can read it, and it is whole.
  absl::Time read_again_at_ = absl::InfiniteFuture();
  std::optional<Evaluation> evaluation_;
  std::optional<Save> save_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_JOB_MACHINE_IMPL_H_
