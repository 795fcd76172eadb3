// A long local round of which every member died: once all names are back as new
// processes it goes on from the newest step for which each of them has a partial.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

// A long round's base is the checkpoint of its start: one is made first if there is none.
bool JobMachine::Impl::SaveBeforeLongRound() const {
  const uint64_t every = config_.checkpoint_every_steps;
  if (!config_.partials || every == 0 || !SaveMissing()) return false;
  if (save_failed_step_ == committed_.step) return false;
  const RoundDecision next =
      DecideRound(config_.policy, config_.schedule, static_cast<int64_t>(committed_.step));
  return next.mode == RoundMode::kLocal && static_cast<uint64_t>(next.length) > every;
}

bool JobMachine::Impl::MayHavePartials() const {
  const uint64_t every = config_.checkpoint_every_steps;
  const bool has_base = !committed_.round || saved_step_ == committed_.step;
  return config_.partials && round_ && round_->mode == RoundMode::kLocal &&
         round_->length > every && has_base;
}

// Nobody carries the round any more. True: its partials are to be waited for, or the phase has
// changed (`*moved`).
bool JobMachine::Impl::GoOnFromPartials(bool* moved) {
  *moved = false;
  if (!MayHavePartials()) return false;
  if (!partials_ || partials_->round != round_->id) {
    LookForPartials look{round_->id, {}};
    for (const RoundMember& member : round_->members) look.workers.push_back(member.name);
    out_.effects.emplace_back(std::move(look));
    partials_ = PartialsFound{round_->id, std::nullopt};
    partials_asked_ = true;
  }
  if (partials_asked_) {
    waits_for_ = fmt::format("looks for partials of round {}", round_->id);
    return true;
  }
  if (!partials_->step) return false;
  std::vector<Member> members;
  std::vector<std::string> missing;
  for (const RoundMember& member : round_->members) {
    const Worker* worker = roster_.Find(member.name);
    if (worker == nullptr || !worker->present() || !worker->prepared() || worker->leaving) {
      missing.push_back(member.name);
    } else {
      members.push_back({member.name, worker->incarnation, StateNeed::kPartial});
    }
  }
  if (!missing.empty()) return AwaitNames(missing);
  without_holder_since_.reset();
  *moved = BeginGroup(Purpose::kStart, std::move(members));
  return true;
}

// True: there is time left for them to come.
bool JobMachine::Impl::AwaitNames(const std::vector<std::string>& missing) {
  if (!without_holder_since_) without_holder_since_ = now_;
  const bool may_return = !AbsentHolders().empty();
  const absl::Time until =
      *without_holder_since_ + (may_return ? config_.limits.rewind_after : config_.wait);
  // All that were to come are here, and these are not among them.
  const bool all_here = config_.fresh_workers && config_.workers_at_start != 0 &&
                        CountCandidates() >= config_.workers_at_start;
  if (stop_reason_ || all_here || now_ >= until) return false;
  waits_for_ = fmt::format("round {} goes on from step {} once {} is there and prepared",
                           round_->id, *partials_->step, fmt::join(missing, ", "));
  WakeAt(until);
  return true;
}

void JobMachine::Impl::On(const PartialsFound& event) {
  if (!partials_asked_ || partials_->round != event.round) return;
  partials_asked_ = false;
  partials_ = event;
  if (event.step) {
    Note("partials_found",
         fmt::format("round {} can go on from step {}", event.round, *event.step));
  }
}

// The order is given again, to the new processes under the old names.
bool JobMachine::Impl::GiveOrderAgain() {
  for (size_t rank = 0; rank < round_->members.size(); ++rank) {
    RoundMember& member = round_->members[rank];
    member.incarnation = group_->members[rank].incarnation;
    member.ready.reset();
    member.carries = true;
    member.out = false;
  }
  round_->group = group_->id;
  round_->adopted = false;
  round_->missed_at = absl::InfiniteFuture();
  partials_.reset();
  Journal(RecordOf(*round_, now_));
  Note("round_resumed",
       fmt::format("round {} goes on in group {} from its partials", round_->id, group_->id));
  for (size_t rank = 0; rank < round_->members.size(); ++rank) {
    Say(*roster_.Find(round_->members[rank].name), OrderFor(*round_, rank));
  }
  return Go(Phase::kTraining);
}

}  // namespace rondo::server
