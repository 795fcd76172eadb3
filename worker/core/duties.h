// What a worker has in hand: its group, order, reduce, staged result, evaluation and save, and what
// of it the coordinator has not answered yet. Pure; the numbers of rules in the
// comments are those of proto/RULES.md.
#ifndef RONDO_WORKER_CORE_DUTIES_H_
#define RONDO_WORKER_CORE_DUTIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// What one call wants: commands for the runtime and messages to say, in order. Messages said while
// no stream is welcomed are lost on purpose: SayUnanswered says them again.
struct Outcome {
  std::vector<Command> commands;
  std::vector<WorkerBody> messages;
  // A collective, a forming or a parallel step was told to stop and must end within the abort
  // limit.
  bool abort_begun = false;
  bool abort_ended = false;
};

class Duties {
 public:
  // `name` and `incarnation` find this worker in an Assemble's members.
  Duties(std::string name, Incarnation incarnation);

  // Messages of the coordinator, of the current term and stream. What doesn't fit is dropped;
  // duplicates change nothing.
  void Handle(const Assemble& assemble, Outcome* out);
  void Handle(const Mesh& mesh, Outcome* out);
  void Handle(const Order& order, Term term, Outcome* out);
  void Handle(const Rates& rates, Outcome* out);
  void Handle(const Reduce& reduce, Outcome* out);
  void Handle(const Commit& commit, Outcome* out);
  void Handle(const Abort& abort, Outcome* out);
  void Handle(const EvaluateNow& evaluate, Outcome* out);
  void Handle(const SaveNow& save, Outcome* out);
  // The part of Welcome that concerns what is in hand (rules 2, 7).
  void Handle(const Welcome& welcome, Term term, Outcome* out);

  // Answers of the runtime; those to something that is no longer in hand are dropped.
  void Handle(const EndpointReady& event, Outcome* out);
  void Handle(const GroupFormed& event, Outcome* out);
  void Handle(const GroupFailed& event, Outcome* out);
  void Handle(const StepsDone& event, Outcome* out);
  void Handle(const StepsFailed& event, Outcome* out);
  void Handle(const ReduceDone& event, Outcome* out);
  void Handle(const ReduceFailed& event, Outcome* out);
  void Handle(const EvaluateDone& event, Outcome* out);
  void Handle(const SaveDone& event, Outcome* out);
  void Handle(const SaveStopped& event, Outcome* out);

  // Rule 3: everything that waits for an answer.
  void SayUnanswered(Outcome* out) const;
  // For Hello; term and life are the machine's to add.
  Returning Describe() const;
  // The next step of the order in work, as the loop last said.
  void NoteStep(uint64_t step);

  RoundId held_round() const { return held_round_; }
  uint64_t held_hash() const { return held_hash_; }
  RoundId order_round() const { return order_ ? order_->order.round : RoundId{}; }
  GroupId group() const { return assembly_ ? assembly_->assemble.group : GroupId{}; }
  bool formed() const { return assembly_ && assembly_->stage == Stage::kFormed; }
  bool has_staged() const { return staged_.has_value(); }

 private:
  enum class Stage { kListening, kForming, kFormed, kFailed };
  struct Assembly {
    Assemble assemble;
    uint32_t rank = 0;
    Stage stage = Stage::kListening;
    std::optional<Endpoint> endpoint = {};
    std::optional<Formed> formed = {};
    std::optional<Failed> failed = {};
  };
  enum class Work { kAwaitingRates, kTraining, kDone, kFailed };
  struct OrderInWork {
    Order order;
    Term term;
    Work work = Work::kAwaitingRates;
    uint64_t step = 0;
    std::optional<Ready> ready = {};
    std::optional<Failed> failed = {};
  };
  struct ReduceInWork {
    Reduce reduce;
    std::optional<Reduced> reduced = {};
    std::optional<Failed> failed = {};
    bool running() const { return !reduced && !failed; }
  };
  struct EvaluationInWork {
    EvaluateNow what;
    std::optional<Evaluated> evaluated = {};
  };
  struct SaveInWork {
    SaveNow what;
    std::optional<Saved> saved = {};
    std::optional<SaveFailed> failed = {};
  };

  bool IsLive(GroupId group) const { return formed() && assembly_->assemble.group == group; }
  bool Blocking() const;
  void LeaveAssembly(Outcome* out);
  void DropOrderInHand(Outcome* out);
  void ForgetState();
  void DropStagedInHand(Outcome* out);
  void NoteRepair(uint64_t step);
  void UndoReady();
  void TrainIfComplete(Outcome* out);
  void Apply(RoundId round, uint64_t hash, Outcome* out);

  const std::string name_;
  const Incarnation incarnation_;
  RoundId held_round_;
  uint64_t held_hash_ = 0;
  bool held_finite_ = true;  // The moments that go with it.
  GroupId newest_group_;
  RoundId newest_round_;  // Of all that it was told of.
  std::optional<Assembly> assembly_;
  std::optional<OrderInWork> order_;
  std::optional<ReduceInWork> reduce_;
  std::optional<StagedResult> staged_;
  std::optional<EvaluationInWork> evaluation_;
  std::optional<SaveInWork> save_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_DUTIES_H_
