// A parallel round: Ready is the report, and a failed step cannot be repaired in this version.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

// Waits until all are ready; a broken stream alone stops nothing (rule 19).
bool JobMachine::Impl::AdvanceParallel() {
  if (!group_ && AwaitsReturn()) return false;
  std::vector<std::string> causes;
  std::vector<std::string> working;
  std::vector<Member> all;
  bool anyone_here = false;
  for (const Contribution& c : round_->attempt->contributions) {
    const RoundMember& member = round_->members[c.member];
    all.push_back({member.name, member.incarnation, StateNeed::kHolds});
    if (c.failed) causes.push_back(fmt::format("step {}: {}", c.failed->step, c.failed->text));
    if (member.ready || c.failed) continue;
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr || worker->gone()) {
      causes.push_back(fmt::format("{} was lost", member.name));
    } else if (worker->stalled) {
      causes.push_back(fmt::format("{} stands still", member.name));
    } else {
      working.push_back(member.name);
      anyone_here = anyone_here || worker->present();
    }
  }
  if (!causes.empty()) return EndParallel(causes, !working.empty());
  if (working.empty()) return DecideParallel(false);
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

// Some step failed: the others have a moment to say why, then the job ends.
bool JobMachine::Impl::EndParallel(const std::vector<std::string>& causes, bool more_to_come) {
  Attempt& attempt = *round_->attempt;
  attempt.report_by = std::min(attempt.report_by, now_ + config_.limits.report);
  if (more_to_come && now_ < attempt.report_by) {
    WakeAt(attempt.report_by);
    return false;
  }
  return Fail(
      fmt::format("parallel round {} broke off ({}); the job cannot go on from the middle of "
                  "a parallel round: the last commit is at step {}",
                  round_->id, fmt::join(causes, "; "), committed_.step));
}

// `some_away`: members that are not ready may still return, or are lost by a limit of CheckStreams.
bool JobMachine::Impl::DecideParallel(bool some_away) {
  const VoteResult vote = CountVotes();
  const bool any_finite =
      std::any_of(round_->members.begin(), round_->members.end(),
                  [](const RoundMember& m) { return m.ready && m.ready->finite; });
  if (!any_finite && !some_away) {
    return Fail(
        fmt::format("in parallel round {} no worker has finite parameters and loss: the job "
                    "stops at step {}; look for NaN or infinite numbers in the inputs and targets, "
                    "or try a smaller learning rate or clip_norm",
                    round_->id, committed_.step));
  }
  if (vote.hash && any_finite) return CommitRound(*vote.hash);
  if (some_away && !vote.split) return false;
  return RewindAfterSplit();
}

}  // namespace rondo::server
