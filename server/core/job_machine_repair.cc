// A parallel round whose step has failed (rules 18, 19): the members say where they stand, those
// that are here form a new group, in which who is a step ahead gives its result to who is behind,
// and an order for the rest of the round follows. The steps that are done stay done.
//
//   kTraining ──failed, lost──▶ broken ──all have said where they stand──▶ kAssembling (repair)
//       ▲                          ▲──────────────not formed──────────────────┤
//       └────────────────────────── the rest of the round ◀───────formed──────┘
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "server/core/continuation.h"
#include "server/core/job_machine_impl.h"
#include "server/core/words.h"

namespace rondo::server {

// What ends the open order, in words; nothing: it goes on. Who is away but not lost ends nothing.
std::vector<std::string> JobMachine::Impl::BreakCauses() const {
  std::vector<std::string> causes;
  for (const Contribution& c : round_->attempt->contributions) {
    const RoundMember& member = round_->members[c.member];
    if (c.failed) causes.push_back(fmt::format("step {}: {}", c.failed->step, c.failed->text));
    if (member.ready || c.failed) continue;
    const Worker* worker = roster_.Find(member.name);
    if (worker == nullptr || worker->incarnation != member.incarnation) {
      causes.push_back(fmt::format("{} was lost", member.name));
    } else if (worker->gone()) {
      causes.push_back(fmt::format("{} is gone: {}", member.name, worker->text));
    } else if (member.out) {
      causes.push_back(fmt::format("{} does not carry the order any more", member.name));
    }
  }
  return causes;
}

// Whoever still works on the order is told to leave the group: its step cannot succeed. A result
// that is staged keeps its vote until the attempt is decided.
void JobMachine::Impl::BreakOff(const std::vector<std::string>& causes) {
  round_->broken = Break{now_, fmt::format("{}", fmt::join(causes, "; "))};
  Note("step_failed", fmt::format("round {}: {}", round_->id, round_->broken->why));
  group_.reset();
  for (const RoundMember& member : round_->members) {
    if (member.ready || member.stands_at || member.out) continue;
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker != nullptr) Say(*worker, Abort{round_->group, {}, 0, round_->broken->why});
  }
}

// Who is here says where it stands, or its process ends by the limit of an abort; for who is away
// there is the time to return.
bool JobMachine::Impl::AdvanceBroken() {
  if (FailedForGood()) return true;
  if (AwaitsReturn()) return false;
  std::vector<std::string> awaited;
  for (RoundMember& member : round_->members) {
    Worker* worker = roster_.Find(member.name, member.incarnation);
    if (member.out || worker == nullptr || worker->gone()) continue;
    absl::Time until;
    if (!worker->present()) {
      until = AwaitedUntil(*worker, round_->broken->at, config_.limits.return_wait);
    } else if (member.ready || member.stands_at) {
      continue;
    } else {
      until = round_->broken->at + config_.limits.abort + config_.limits.report;
      if (until <= now_) LeaveOut(member, "did not answer an abort");
    }
    if (until <= now_) continue;
    WakeAt(until);
    awaited.push_back(member.name);
  }
  if (awaited.empty()) return DecideBroken();
  waits_for_ = fmt::format("round {} has broken off ({}); it waits for {}", round_->id,
                           round_->broken->why, fmt::join(awaited, ", "));
  return false;
}

void JobMachine::Impl::LeaveOut(RoundMember& member, const std::string& why) {
  TakeOut(member);
  Worker* worker = roster_.Find(member.name, member.incarnation);
  if (worker == nullptr) return;
  worker->holds.reset();  // Its moments are those of a step that nobody else is at.
  worker->debt = Debt::kAll;
  Note("left_out",
       fmt::format("{} takes no further part in round {}: {}", member.name, round_->id, why),
       member.name);
  if (worker->stream) DropStream(*worker, why);
}

// True: the job has ended, since the step would fail again, with whomever.
bool JobMachine::Impl::FailedForGood() {
  if (!round_->attempt) return false;
  for (const Contribution& c : round_->attempt->contributions) {
    if (!c.failed) continue;
    if (c.failed->cause == FailureCause::kNoFactor) return FailNotFinite();
    if (c.failed->cause != FailureCause::kInternal) continue;
    return Fail(fmt::format("step {} of round {} failed at {}; the last commit is at step {}",
                            c.failed->step, round_->id, c.failed->text, committed_.step));
  }
  return false;
}

bool JobMachine::Impl::DecideBroken() {
  if (round_->attempt) {
    const VoteResult vote = CountVotes();
    const bool any_finite = std::any_of(round_->members.begin(), round_->members.end(), IsFinite);
    if (vote.hash && any_finite) return CommitRound(*vote.hash);
    if (vote.split) return RewindAfterSplit();
  }
  return BeginRepair();
}

bool JobMachine::Impl::BeginRepair() {
  std::vector<Survivor> survivors;
  for (const RoundMember& member : round_->members) {
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (member.out || worker == nullptr || !worker->present()) continue;
    const uint64_t end = round_->first_step + round_->length;
    if (!member.ready && !member.stands_at) continue;
    survivors.push_back({member.name, member.incarnation, member.ready ? end : *member.stands_at});
  }
  if (survivors.empty()) return WaitForCarriers();
  const RepairDecision repair = DecideRepair(survivors);
  const bool moved = repair.stands_at > round_->first_step;
  if (!moved && round_->breaks + 1 >= config_.limits.attempts_max) {
    return Fail(fmt::format("step {} of round {} failed {}; the last time: {}", round_->first_step,
                            round_->id, Counted(round_->breaks + 1, "time"), round_->broken->why));
  }
  // The attempt is decided: what is staged for it is void, the steps are not.
  round_->attempt.reset();
  for (RoundMember& member : round_->members) {
    if (!member.ready) continue;
    member.stands_at = round_->first_step + round_->length;
    member.ready.reset();
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker != nullptr) Say(*worker, Abort{round_->group, round_->id, 0, round_->broken->why});
  }
  for (const std::string& name : repair.left_behind) {
    for (RoundMember& member : round_->members) {
      if (member.name == name) LeaveOut(member, "it is more than one step behind the others");
    }
  }
  return BeginGroup(Purpose::kRepair, repair.members, repair.step);
}

// Nobody here carries the round. One who is away may, until he is lost.
bool JobMachine::Impl::WaitForCarriers() {
  const bool hope =
      std::any_of(round_->members.begin(), round_->members.end(), [&](const RoundMember& m) {
        const Worker* worker = roster_.Find(m.name, m.incarnation);
        return worker != nullptr && !worker->gone() && !worker->stream && !m.out;
      });
  if (hope) {
    if (stop_reason_ && !SaveMissing()) return End(EndState::kStopped, *stop_reason_);
    waits_for_ = fmt::format("all members of round {} are away", round_->id);
    return false;  // Each of them comes back or is lost by a limit of CheckStreams.
  }
  // While nobody holds the state either, one of the lost may still bring the round back.
  if (committed_.round && !HolderIsHere()) return WithoutHolder();
  VoidRound("none of its members is left");
  return Go(Phase::kBorder);
}

// A member's order has broken off at its step. The first time it says so it is a report on the
// attempt; later, on a new stream, only where it stands.
void JobMachine::Impl::OnFailedParallel(RoundMember& member, const Failed& message,
                                        const std::string& text) {
  const uint64_t end = round_->first_step + round_->length;
  const uint64_t stands_at = message.step + (message.has_result ? 1 : 0);
  if (member.out || stands_at < round_->first_step || stands_at > end) return;
  member.stands_at = stands_at;
  member.finite = message.finite;
  member.loss_sum = message.loss_sum;
  member.loss_steps = stands_at - round_->first_step;
  if (!round_->attempt || member.ready) return;
  const auto index = static_cast<size_t>(&member - round_->members.data());
  Contribution& contribution = round_->attempt->contributions[index];
  if (contribution.failed) return;
  contribution.failed = message;
  contribution.failed->text = text;
}

// Rule 18: an order in hand is known by its round and group. Who has not seen the open one stands
// where it begins: all its members did when they formed its group.
OrderFate JobMachine::Impl::AdoptParallelOrder(Worker& worker, RoundMember& member,
                                               const Returning& returning) {
  const std::optional<OrderInHand>& order = returning.order;
  const bool same_round = order && order->round == round_->id;
  // An order of a round that is committed has been answered by its staged result's fate.
  const bool other_round = order && !same_round && order->round > committed_.round;
  const OrderFate otherwise = order ? OrderFate::kWithdrawn : OrderFate::kNone;
  const bool live = group_ && group_->id == round_->group;
  if (live && !member.out && HasLeftOrdersGroup(returning)) {
    TakeOut(member);  // Without an order it is in no order's middle: it holds what it says.
    return otherwise;
  }
  if (Holds(worker) && !member.out && !other_round) {
    if (same_round && order->group == round_->group) {
      member.carries = true;
      return OrderFate::kRenewed;
    }
    if (same_round ? order->step == round_->first_step : round_->so_far.orders == 0) {
      member.carries = false;
      if (round_->broken) member.stands_at = round_->first_step;
      return same_round ? OrderFate::kRenewed : otherwise;
    }
  }
  TakeOut(member);
  worker.holds.reset();  // One in the middle of an order that is not open holds nothing.
  return otherwise;
}

void JobMachine::Impl::TakeOut(RoundMember& member) {
  member.out = true;
  member.carries = false;
  member.ready.reset();
  if (!round_->attempt) return;
  const auto index = static_cast<size_t>(&member - round_->members.data());
  round_->attempt->contributions[index].reduced.reset();
}

// ------------------------------------------------------------------------------------ formed

// All stand where the round goes on? One that a repair had reached before says so only now. False:
// the assembly has been ended.
bool JobMachine::Impl::CheckStanding() {
  bool good = true;
  for (size_t rank = 0; rank < assembly_->group.members.size(); ++rank) {
    const Member& member = assembly_->group.members[rank];
    RoundMember* in_round = round_->Find(member.name, member.incarnation);
    in_round->stands_at = assembly_->stand_at[rank];
    good = good && assembly_->stand_at[rank] == assembly_->stand_at[0];
  }
  if (good) return true;
  --assembly_failures_;  // Not the group's fault.
  EndAssembly("its members do not stand at the same step");
  return false;
}

// The hash of the parameters that a strict majority has; nothing: there is none.
std::optional<uint64_t> JobMachine::Impl::RepairedHash() const {
  std::map<uint64_t, size_t> counts;
  for (const auto& hash : assembly_->formed) ++counts[*hash];
  for (const auto& [hash, count] : counts) {
    if (2 * count > assembly_->formed.size()) return hash;
  }
  return std::nullopt;
}

// All have these parameters? False: the assembly has been ended, without those that have others.
bool JobMachine::Impl::CheckRepaired(uint64_t majority) {
  bool good = true;
  for (size_t rank = 0; rank < assembly_->group.members.size(); ++rank) {
    if (assembly_->formed[rank] == majority) continue;
    good = false;
    const Member& member = assembly_->group.members[rank];
    LeaveOut(*round_->Find(member.name, member.incarnation),
             fmt::format("its parameters have hash {:016x}, the majority's {:016x}",
                         *assembly_->formed[rank], majority));
  }
  if (good) return true;
  --assembly_failures_;
  EndAssembly("its members have different parameters");
  return false;
}

// True: the phase has changed.
bool JobMachine::Impl::FormedRepair() {
  if (!CheckStanding()) return true;
  const std::optional<uint64_t> hash = RepairedHash();
  if (!hash) return RewindAfterSplit();
  if (!CheckRepaired(*hash)) return true;
  TellLostInForming();
  return ContinueRound();
}

bool JobMachine::Impl::ContinueRound() {
  const std::vector<Member>& members = assembly_->group.members;
  const uint64_t step = assembly_->stand_at[0];
  auto next = DecideContinuation(*round_, config_.schedule,
                                 {.group = assembly_->group.id,
                                  .members = members,
                                  .step = step,
                                  .train_samples = reference_->train_samples,
                                  .global_batch = GlobalBatch(members.size())});
  if (!next.ok()) return Fail(std::string(next.status().message()));
  next->breaks = step > round_->first_step ? 0 : round_->breaks + 1;
  const absl::Duration lost = now_ - round_->broken->at;
  Note("step_repaired",
       fmt::format("round {} goes on at step {} in group {} with {}, {:.3f} s after it broke off",
                   round_->id, step, assembly_->group.id, Counted(members.size(), "member"),
                   absl::ToDoubleSeconds(lost)));
  ReportGlobalBatch(members.size());
  round_ = *std::move(next);
  group_ = assembly_->group;
  assembly_.reset();
  assembly_failures_ = 0;
  IssueOrders();
  return Go(Phase::kTraining);
}

}  // namespace rondo::server
