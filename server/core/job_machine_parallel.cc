// A parallel round up to its border: Ready is the report. What a failed step leads to is in
// job_machine_repair.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

bool JobMachine::Impl::AdvanceParallel() {
  if (!round_->broken) {
    std::vector<std::string> causes = BreakCauses();
    // An earlier term had begun another group for it.
    if (!group_) causes.push_back("the order's group was given up");
    if (causes.empty()) return AwaitReady();
    BreakOff(causes);
  }
  return AdvanceBroken();
}

// Waits until all are ready; a broken stream alone stops nothing (rule 19).
bool JobMachine::Impl::AwaitReady() {
  std::vector<std::string> working;
  std::vector<Member> all;
  bool anyone_here = false;
  for (const RoundMember& member : round_->members) {
    all.push_back({member.name, member.incarnation, StateNeed::kHolds});
    if (member.ready) continue;
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    working.push_back(member.name);
    anyone_here = anyone_here || worker->present();
  }
  if (working.empty()) return DecideParallel(false);
  waits_for_.clear();
  if (working.size() < all.size()) {
    waits_for_ = fmt::format("round {} waits for {}", round_->id, fmt::join(working, ", "));
  }
  if (anyone_here || working.size() == all.size()) {
    round_->missed_at = absl::InfiniteFuture();
    return false;
  }
  if (round_->missed_at == absl::InfiniteFuture()) round_->missed_at = now_;
  const absl::Time until = AwaitMembers(all, round_->missed_at);
  if (until <= now_) return DecideParallel(true);
  WakeAt(until);
  return false;
}

// `some_away`: members that are not ready may still return, or are lost by a limit of CheckStreams.
bool JobMachine::Impl::DecideParallel(bool some_away) {
  const VoteResult vote = CountVotes();
  const bool any_finite =
      std::any_of(round_->members.begin(), round_->members.end(),
                  [](const RoundMember& m) { return m.ready && m.ready->finite; });
  if (!any_finite && !some_away) return FailNotFinite();
  if (vote.hash && any_finite) return CommitRound(*vote.hash);
  if (some_away && !vote.split) return false;
  return RewindAfterSplit();
}

bool JobMachine::Impl::FailNotFinite() {
  return Fail(
      fmt::format("in parallel round {} no worker has finite parameters and loss: the job "
                  "stops at step {}; look for NaN or infinite numbers in the inputs and targets, "
                  "or try a smaller learning rate or clip_norm",
                  round_->id, committed_.step));
}

}  // namespace rondo::server
