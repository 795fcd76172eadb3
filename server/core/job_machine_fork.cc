// A worker comes from another history of the job: it was given numbers of which this journal knows
// nothing, since an old copy of the state directory was put back, or the journal's newest records
// are lost. Those numbers are not used again, and of what the worker has only a state that this
// journal knows counts (rules 8, 20 and 21 of proto/RULES.md).
#include <fmt/format.h>

#include <algorithm>

#include "common/mix64.h"
#include "server/core/job_machine_impl.h"

namespace rondo::server {

// Which says nothing of the tokens that follow from the same seed.
uint64_t JobMachine::Impl::Life() const {
  return Mix64(Mix64(config_.token_seed[0] + kSplitMix64Gamma) + config_.token_seed[1]);
}

bool JobMachine::Impl::IsForeign(const Returning& returning) const {
  if (!returning.seen) return false;
  const Seen& seen = *returning.seen;
  const auto life = history_.lives.find(seen.term);
  const bool known = life != history_.lives.end() && life->second == seen.life;
  return !known || seen.group > history_.last_group || seen.round > history_.last_round;
}

// It would drop the open order if that were sent to it, since it has heard of a later group. In one
// history it then has the order in hand; it was taken from who came from another, in this term or
// in one before.
bool JobMachine::Impl::HasLeftOrdersGroup(const Returning& returning) const {
  return !returning.order && returning.seen && returning.seen->group > round_->group;
}

void JobMachine::Impl::MeetOtherHistory(const Worker& worker, const Seen& seen) {
  Note(
      "other_history",
      fmt::format("{} has been with term {} of the coordinator, in group {} and round {}, and this "
                  "journal does not know them: an old copy of the state directory was put back, "
                  "or its newest records are lost; what {} holds counts only if it is the state "
                  "of step {}",
                  worker.name, seen.term, seen.group, seen.round, worker.name, committed_.step),
      worker.name);
  const bool used = seen.term >= config_.term || seen.group > history_.last_group ||
                    seen.round > history_.last_round;
  if (used) BeginBeyond(worker, seen);
}

// All but `comer` learn of the new term when they dial again, as after a restart.
void JobMachine::Impl::BeginBeyond(const Worker& comer, const Seen& seen) {
  config_.term = std::max(config_.term, seen.term).Next();
  Journal(TermRecord{config_.term, now_, Life(), seen});
  Note("term_began", fmt::format("term {} of the coordinator goes on beyond group {} and round {}",
                                 config_.term, history_.last_group, history_.last_round));
  for (auto& [name, worker] : roster_.workers()) {
    if (!worker.stream || &worker == &comer) continue;
    Close(worker.stream, "the coordinator goes on in a new term");
    worker.stream = {};
    worker.broke = now_;
    worker.fell_silent = false;
  }
}

// Nothing that it has done for an order of the other history is in this one. An order of this one
// it would drop: it has been in later groups.
OrderFate JobMachine::Impl::RefuseForeignOrder(Worker& worker, const Returning& returning) {
  RoundMember* member = round_ ? round_->Find(worker.name, worker.incarnation) : nullptr;
  if (member != nullptr && round_->mode == RoundMode::kParallel) {
    TakeOut(*member);
  } else if (member != nullptr) {
    member->out = true;
    member->carries = false;
    member->ready.reset();
  }
  // Rule 18: one in the middle of a parallel order holds nothing.
  if (returning.order && NextMode() == RoundMode::kParallel) worker.holds.reset();
  if (!Holds(worker)) {
    worker.debt = Debt::kAll;
  } else if (worker.debt != Debt::kMoments) {
    worker.debt = Debt::kNone;
  }
  return returning.order ? OrderFate::kWithdrawn : OrderFate::kNone;
}

}  // namespace rondo::server
