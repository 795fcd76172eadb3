// A term that is not the first takes up what the journal says (rules 20 and 21).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

absl::Status CheckHistory(const MachineConfig& config, const History& history) {
  if (!history.open) return absl::OkStatus();
  ScheduleConfig schedule = config.schedule;
  if (history.reference) schedule.steps = static_cast<int64_t>(history.reference->total_steps);
  return CheckRates(*history.open, schedule);
}

// The members of the journal's group may come back: they count as away since now.
void JobMachine::Impl::AwaitJournaledMembers() {
  if (!history_.group) return;
  for (const Member& member : history_.group->members) {
    if (config_.gone_workers.contains(member.name)) continue;
    awaited_.push_back(member);
    roster_.Expect(member, now_);
  }
}

// `ended`: the last term was over, its members were let go. Nobody needs to be waited for then, nor
// when it is known that their processes are gone.
void JobMachine::Impl::AdoptHistory(bool ended) {
  if (history_.reference) {
    reference_ = history_.reference->facts;
    config_.schedule.steps = static_cast<int64_t>(history_.reference->total_steps);
  }
  if (history_.totals.last_evaluation) evaluated_step_ = history_.totals.last_evaluation->step;
  saved_step_ = history_.totals.checkpoint_step;
  if (history_.last_round && history_.group) {
    reported_batch_ = GlobalBatch(history_.group->members.size());
  }
  if (!ended && !config_.fresh_workers) AwaitJournaledMembers();
  TrimCheckpointsKept();
  if (history_.open) AdoptRound();
  std::vector<std::string> names;
  for (const Member& member : awaited_) names.push_back(member.name);
  Note(
      "term_began",
      fmt::format("term {} of the coordinator goes on at step {}{}; {} may come back", config_.term,
                  committed_.step, round_ ? fmt::format(" with round {} open", round_->id) : "",
                  names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, ", "))));
}

// A local round keeps its order only: which attempts were made is not known, so the next one has a
// new group. A parallel round goes on in its group, which does not need a coordinator for its
// steps.
void JobMachine::Impl::AdoptRound() {
  const OrderRecord& order = *history_.open;
  round_ = server::AdoptRound(order, history_.open_members, committed_.ledger, config_.schedule);
  phase_ = Phase::kTraining;
  if (round_->mode == RoundMode::kLocal) return;
  round_->attempt = Attempt{.number = 0, .group = round_->group};
  for (size_t rank = 0; rank < round_->members.size(); ++rank) {
    round_->attempt->contributions.push_back(
        {.member = rank, .weight = static_cast<double>(round_->members[rank].batch)});
  }
  if (history_.group->group == round_->group) group_ = Group{round_->group, history_.open_members};
}

// Nobody is grouped anew before all members of the journal's group are back or lost.
bool JobMachine::Impl::AwaitsReturn() {
  if (awaited_.empty()) return false;
  std::vector<std::string> away;
  for (const Member& member : awaited_) {
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker != nullptr && !worker->gone() && !worker->stream) away.push_back(member.name);
  }
  waits_for_.clear();
  if (away.empty()) {
    awaited_.clear();
    return false;
  }
  waits_for_ = fmt::format("term {} of the coordinator waits for {} to come back, or to be lost",
                           config_.term, fmt::join(away, ", "));
  return true;  // Each of them comes back or is lost by a limit of CheckStreams.
}

// The job was over before this term: who has not heard of it is told.
void JobMachine::Impl::BeginFarewell(const EndRecord& end) {
  end_state_ = end.state;
  end_reason_ = end.reason;
  end_goodbye_ = GoodbyeOf(end.state, end.reason);
  AwaitJournaledMembers();
  Go(Phase::kOver);
}

}  // namespace rondo::server
