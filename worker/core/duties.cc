#include "worker/core/duties.h"

#include <algorithm>
#include <utility>

namespace rondo::worker {
namespace {

template <typename Work>
bool IsFor(const Work& staged, GroupId group, RoundId round, uint32_t attempt) {
  return staged.group == group && staged.round == round && staged.attempt == attempt;
}

}  // namespace

Duties::Duties(std::string name, Incarnation incarnation)
    : name_(std::move(name)), incarnation_(incarnation) {}

// ------------------------------------------------------------------------------------ parts

bool Duties::Blocking() const {
  if (!assembly_) return false;
  if (assembly_->stage == Stage::kForming) return true;
  if (reduce_ && reduce_->running()) return true;
  return order_ && order_->work == Work::kTraining && order_->order.mode == Mode::kParallel;
}

void Duties::LeaveAssembly(Outcome* out) {
  if (!assembly_) return;
  if (Blocking()) out->abort_begun = true;
  out->commands.push_back(LeaveGroup{assembly_->assemble.group});
  assembly_.reset();
  reduce_.reset();  // Its attempt is decided, or will be without it.
  evaluation_.reset();
}

void Duties::DropOrderInHand(Outcome* out) {
  if (!order_) return;
  out->commands.push_back(DropOrder{order_->order.round});
  // Rule 18: the values go back, but the moments are those of steps that may not count.
  const bool moved = order_->order.mode == Mode::kParallel && order_->work != Work::kAwaitingRates;
  if (moved) ForgetState();
  order_.reset();
}

// It holds nothing any more: whoever asks is told so, and gives it all.
void Duties::ForgetState() {
  held_round_ = {};
  held_hash_ = 0;
  held_finite_ = true;
}

void Duties::DropStagedInHand(Outcome* out) {
  if (!staged_) return;
  out->commands.push_back(DropStaged{staged_->round, staged_->group, staged_->attempt});
  staged_.reset();
}

void Duties::Apply(RoundId round, uint64_t hash, Outcome* out) {
  held_finite_ = staged_->finite;
  out->commands.push_back(ApplyStaged{staged_->round, staged_->group, staged_->attempt});
  staged_.reset();
  order_.reset();
  reduce_.reset();
  held_round_ = round;
  held_hash_ = hash;
}

// ------------------------------------------------------------------------------------ orders

void Duties::Handle(const Order& order, Term term, Outcome* out) {
  newest_round_ = std::max(newest_round_, order.round);
  // Local steps need no connections: a new term of the coordinator sends the order again before it
  // remakes the group.
  const bool wanted =
      order.mode == Mode::kLocal ? order.group == newest_group_ : IsLive(order.group);
  if (!wanted || order.round <= held_round_) return;
  if (order_ && order_->order.round == order.round && order_->order.group == order.group) {
    order_->term = term;
    return;
  }
  // Rule 18: a new order of the same round goes on where the step's repair has left it.
  if (order_ && order_->order.round != order.round) DropOrderInHand(out);
  order_ = OrderInWork{.order = order, .term = term, .step = order.first_step};
  evaluation_.reset();
  save_.reset();
  TrainIfComplete(out);
}

void Duties::Handle(const Rates& rates, Outcome* out) {
  if (!order_ || order_->work != Work::kAwaitingRates) return;
  if (order_->order.round != rates.round || order_->order.group != rates.group) return;
  std::vector<double>& known = order_->order.rates;
  if (rates.first > known.size()) return;  // A hole: what lies between comes again after Welcome.
  const uint64_t skipped = known.size() - rates.first;
  if (skipped >= rates.values.size()) return;
  known.insert(known.end(), rates.values.begin() + static_cast<int64_t>(skipped),
               rates.values.end());
  TrainIfComplete(out);
}

// A repair has finished a step: that is where this worker stands, whoever asks.
void Duties::NoteRepair(uint64_t step) {
  if (!order_) return;
  order_->step = step;
  if (order_->failed) order_->failed->step = step;
}

// The result of a parallel round is void; its steps are not. What is left to say is where they end.
void Duties::UndoReady() {
  if (!order_ || order_->work != Work::kDone || order_->order.mode != Mode::kParallel) return;
  Failed failed;
  failed.group = order_->order.group;
  failed.round = order_->order.round;
  failed.step = order_->step;
  failed.cause = FailureCause::kAborted;
  failed.text = "its result was aborted";
  failed.finite = order_->ready->finite;
  failed.loss_sum = order_->ready->loss_sum;
  order_->work = Work::kFailed;
  order_->ready.reset();
  order_->failed = std::move(failed);
}

void Duties::TrainIfComplete(Outcome* out) {
  if (order_->order.rates.size() < order_->order.length) return;
  order_->work = Work::kTraining;
  out->commands.push_back(Train{order_->order});
}

void Duties::Handle(const StepsDone& event, Outcome* out) {
  out->abort_ended = true;
  const Ready& ready = event.ready;
  if (!order_ || order_->work != Work::kTraining) return;
  if (order_->order.round != ready.round || order_->order.group != ready.group) return;
  order_->work = Work::kDone;
  order_->step = order_->order.first_step + order_->order.length;
  order_->ready = ready;
  if (order_->order.mode == Mode::kLocal) {
    held_finite_ = held_finite_ && ready.finite;  // Moments stay, whatever becomes of the steps.
  } else {                                        // Ready counts as Reduced.
    DropStagedInHand(out);
    staged_ = StagedResult{.round = ready.round,
                           .group = ready.group,
                           .attempt = 0,
                           .state_hash = ready.reduced.state_hash,
                           .finite = ready.finite};
  }
  out->messages.push_back(ready);
}

void Duties::Handle(const StepsFailed& event, Outcome* out) {
  out->abort_ended = true;
  if (!order_ || order_->work != Work::kTraining) return;
  if (order_->order.round != event.failed.round || order_->order.group != event.failed.group) {
    return;
  }
  order_->work = Work::kFailed;
  order_->step = event.failed.step;
  order_->failed = event.failed;
  out->messages.push_back(event.failed);
}

void Duties::NoteStep(uint64_t step) {
  if (order_ && order_->work == Work::kTraining) order_->step = std::max(order_->step, step);
}

// ------------------------------------------------------------------------------------ reduce

void Duties::Handle(const Reduce& reduce, Outcome* out) {
  if (!IsLive(reduce.group)) return;
  if (!order_ || order_->order.round != reduce.round || order_->work != Work::kDone) return;
  if (order_->order.mode != Mode::kLocal) return;
  if (reduce_ && reduce.attempt <= reduce_->reduce.attempt) return;
  if (staged_ && staged_->round == reduce.round && staged_->attempt >= reduce.attempt) return;
  DropStagedInHand(out);  // A new attempt says that the last one was aborted.
  reduce_ = ReduceInWork{.reduce = reduce};
  out->commands.push_back(ReduceState{reduce});
}

void Duties::Handle(const ReduceDone& event, Outcome* out) {
  out->abort_ended = true;
  const Reduced& reduced = event.reduced;
  const bool wanted = reduce_ && reduce_->running() &&
                      IsFor(reduce_->reduce, reduced.group, reduced.round, reduced.attempt);
  if (!wanted) {  // Its attempt was aborted while it ran.
    out->commands.push_back(DropStaged{reduced.round, reduced.group, reduced.attempt});
    return;
  }
  reduce_->reduced = reduced;
  held_finite_ = held_finite_ && reduced.finite;
  staged_ = StagedResult{.round = reduced.round,
                         .group = reduced.group,
                         .attempt = reduced.attempt,
                         .state_hash = reduced.reduced.state_hash,
                         .finite = held_finite_};
  out->messages.push_back(reduced);
}

void Duties::Handle(const ReduceFailed& event, Outcome* out) {
  out->abort_ended = true;
  const Failed& failed = event.failed;
  if (!reduce_ || !reduce_->running()) return;
  if (!IsFor(reduce_->reduce, failed.group, failed.round, failed.attempt)) return;
  reduce_->failed = failed;
  out->messages.push_back(failed);
}

void Duties::Handle(const Commit& commit, Outcome* out) {
  newest_round_ = std::max(newest_round_, commit.round);
  if (commit.round <= held_round_) return;
  if (staged_ && IsFor(*staged_, commit.group, commit.round, commit.attempt)) {
    if (staged_->state_hash == commit.state_hash)
      return Apply(commit.round, commit.state_hash, out);
    DropStagedInHand(out);  // Rule 8: the odd one out drops its state at once.
    DropOrderInHand(out);
    ForgetState();
    return;
  }
  // Committed without this worker: the next Assemble says where it gets the state from.
  if (reduce_ && reduce_->running()) LeaveAssembly(out);
  if (order_ && order_->order.round <= commit.round) DropOrderInHand(out);
}

void Duties::Handle(const Abort& abort, Outcome* out) {
  if (group() == abort.group) LeaveAssembly(out);
  if (abort.round && staged_ && IsFor(*staged_, abort.group, abort.round, abort.attempt)) {
    DropStagedInHand(out);
    UndoReady();
  }
}

// ------------------------------------------------------------------------------------ after it

void Duties::Handle(const EvaluateNow& evaluate, Outcome* out) {
  if (!IsLive(evaluate.group) || evaluate.round != held_round_ || order_) return;
  if (evaluation_ && evaluation_->what.round == evaluate.round &&
      evaluation_->what.group == evaluate.group) {
    return;
  }
  evaluation_ = EvaluationInWork{.what = evaluate};
  out->commands.push_back(Evaluate{evaluate, assembly_->rank,
                                   static_cast<uint32_t>(assembly_->assemble.members.size())});
}

void Duties::Handle(const EvaluateDone& event, Outcome* out) {
  const Evaluated& evaluated = event.evaluated;
  if (!evaluation_ || evaluation_->evaluated) return;
  if (evaluation_->what.group != evaluated.group || evaluation_->what.round != evaluated.round) {
    return;
  }
  evaluation_->evaluated = evaluated;
  out->messages.push_back(evaluated);
}

void Duties::Handle(const SaveNow& save, Outcome* out) {
  if (save.round != held_round_ || order_) return;
  // Asked again: once the coordinator has given a save up, it may want it after all.
  const bool again = save_ && save_->what.step == save.step && save_->what.group == save.group;
  if (again && save_->saved) out->messages.push_back(*save_->saved);
  if (again && !save_->failed) return;
  save_ = SaveInWork{.what = save};
  out->commands.push_back(Save{save});
}

void Duties::Handle(const SaveDone& event, Outcome* out) {
  if (!save_ || save_->saved || save_->failed) return;
  if (save_->what.group != event.saved.group || save_->what.step != event.saved.step) return;
  save_->saved = event.saved;
  out->messages.push_back(event.saved);
}

void Duties::Handle(const SaveStopped& event, Outcome* out) {
  if (!save_ || save_->saved || save_->failed) return;
  if (save_->what.group != event.failed.group || save_->what.step != event.failed.step) return;
  save_->failed = event.failed;
  out->messages.push_back(event.failed);
}

// ------------------------------------------------------------------------------------ streams

void Duties::Handle(const Welcome& welcome, Term term, Outcome* out) {
  for (const StagedFate& fate : welcome.fates) {
    if (!staged_ || !IsFor(*staged_, fate.group, fate.round, fate.attempt)) continue;
    switch (fate.fate) {
      case Fate::kCommitted:
        if (staged_->round > held_round_) {
          Apply(staged_->round, staged_->state_hash, out);
        } else {
          DropStagedInHand(out);
        }
        break;
      case Fate::kAborted:
        DropStagedInHand(out);
        UndoReady();
        break;
      case Fate::kOpen:
        break;
    }
  }
  if (assembly_ && group() != welcome.assembly) LeaveAssembly(out);
  if (reduce_ && reduce_->reduce.attempt != welcome.attempt) {
    if (reduce_->running()) LeaveAssembly(out);
    reduce_.reset();
  }
  if (!order_) return;
  switch (welcome.order_fate) {
    case OrderFate::kRenewed:
      order_->term = term;
      break;
    case OrderFate::kWithdrawn:
      DropOrderInHand(out);
      break;
    case OrderFate::kNone:
      break;
  }
}

void Duties::SayUnanswered(Outcome* out) const {
  std::vector<WorkerBody>& messages = out->messages;
  if (assembly_) {
    if (assembly_->formed) {
      messages.push_back(*assembly_->formed);
    } else if (assembly_->failed) {
      messages.push_back(*assembly_->failed);
    } else if (assembly_->endpoint) {
      messages.push_back(*assembly_->endpoint);
    }
  }
  if (order_ && order_->ready) messages.push_back(*order_->ready);
  if (order_ && order_->failed) messages.push_back(*order_->failed);
  if (reduce_ && reduce_->reduced) messages.push_back(*reduce_->reduced);
  if (reduce_ && reduce_->failed) messages.push_back(*reduce_->failed);
  if (evaluation_ && evaluation_->evaluated) messages.push_back(*evaluation_->evaluated);
  if (save_ && save_->saved) messages.push_back(*save_->saved);
  if (save_ && save_->failed) messages.push_back(*save_->failed);
}

Returning Duties::Describe() const {
  Returning returning;
  returning.round = held_round_;
  returning.state_hash = held_hash_;
  returning.finite = held_finite_;
  returning.seen.group = newest_group_;
  returning.seen.round = newest_round_;
  // One whose rates are not all there is not in hand: it comes again.
  if (order_ && order_->work != Work::kAwaitingRates) {
    returning.order = OrderInHand{.term = order_->term,
                                  .group = order_->order.group,
                                  .round = order_->order.round,
                                  .step = order_->step,
                                  .done = order_->work == Work::kDone};
  }
  if (staged_) returning.staged.push_back(*staged_);
  return returning;
}

}  // namespace rondo::worker
