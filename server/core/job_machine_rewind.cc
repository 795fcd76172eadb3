// Nobody holds the job's state any more: it waits for one who may, then goes back to the newest
// complete checkpoint, whose files the next group reads (rules 14, 19 and 21).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"
#include "server/core/words.h"

namespace rondo::server {

bool JobMachine::Impl::HolderIsHere() const {
  return std::any_of(roster_.workers().begin(), roster_.workers().end(), [&](const auto& entry) {
    return entry.second.present() && Holds(entry.second);
  });
}

uint64_t JobMachine::Impl::CountCandidates() const {
  const auto& workers = roster_.workers();
  return std::count_if(workers.begin(), workers.end(), [this](const auto& entry) {
    return entry.second.present() && entry.second.prepared() && !Parting(entry.second);
  });
}

// Those that may still bring the state: away, standing still, or lost and not replaced by another
// process of their name. Members of an earlier term's group count unless that group was before a
// rewind: then nobody held what the job went back to.
std::vector<std::string> JobMachine::Impl::AbsentHolders() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : roster_.workers()) {
    const bool gone_for_good =
        worker.standing == Standing::kLeft || worker.standing == Standing::kRefused;
    const bool unheard =
        worker.dial == 0 && (!history_.rewound || history_.restored.contains(worker.name));
    if ((Holds(worker) || unheard) && !worker.present() && !gone_for_good) names.push_back(name);
  }
  return names;
}

// The phase stays, with an open round if there is one: who carries its order may come back.
bool JobMachine::Impl::WithoutHolder() {
  group_.reset();
  if (!without_holder_since_) without_holder_since_ = now_;
  const std::vector<std::string> absent = AbsentHolders();
  const absl::Duration patience = stop_reason_ ? config_.limits.lost : config_.limits.rewind_after;
  const absl::Time until = absent.empty() ? now_ : *without_holder_since_ + patience;
  const uint64_t candidates = CountCandidates();
  if (now_ >= until && (candidates > 0 || stop_reason_)) {
    return Rewind(fmt::format("no worker holds the state of step {} any more", committed_.step));
  }
  std::string what = fmt::format("no worker here holds the state of step {}", committed_.step);
  if (!absent.empty()) {
    what += fmt::format("; {} may bring it back", Listed(absent));
  }
  what += now_ < until
              ? fmt::format("; else the job goes back {} at {}{}", NameOfTarget(), InUtc(until),
                            stop_reason_ ? "" : " (workers.rewind_after_seconds)")
              : fmt::format("; the job goes back {} once a worker is ready", NameOfTarget());
  if (now_ < until) WakeAt(until);
  const Phase phase = phase_;
  BelowMinimum(candidates);  // Which may give the job up.
  if (phase_ != phase) return true;
  waits_for_ = std::move(what);
  return false;
}

std::string JobMachine::Impl::NameOfTarget() const {
  if (history_.checkpoints.empty()) return "to step 0";
  return fmt::format("to the checkpoint of step {}",
                     history_.checkpoints.rbegin()->second.state.step);
}

bool JobMachine::Impl::Rewind(const std::string& why) {
  const auto& kept = history_.checkpoints;
  if (kept.empty()) return RewindTo({}, why);
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    const auto condition = Inspect(it->second.state, /*whole=*/false);
    if (!condition) return phase_ == Phase::kOver;
    if (*condition == CheckpointCondition::kGood) return RewindTo(it->first, why);
  }
  const uint64_t oldest = kept.begin()->second.state.step;
  return Fail(
      fmt::format("{}, and none of the job's checkpoints can be used; that of step {}: {}; put its "
                  "files right and start again with the same state directory",
                  why, oldest, inspections_[oldest].text));
}

bool JobMachine::Impl::RewindTo(RoundId target, const std::string& why) {
  const std::string text = fmt::format("{}: going back from step {}", why, committed_.step);
  no_checkpoint_since_.reset();
  if (assembly_) {
    for (const Member& member : assembly_->group.members) {
      const Worker* worker = roster_.Find(member.name, member.incarnation);
      if (worker != nullptr) Say(*worker, Abort{assembly_->group.id, {}, 0, text});
    }
  }
  if (round_ && round_->attempt) {
    const Attempt& attempt = *round_->attempt;
    for (const Contribution& c : attempt.contributions) {
      const RoundMember& member = round_->members[c.member];
      const Worker* worker = roster_.Find(member.name, member.incarnation);
      if (worker != nullptr) Say(*worker, Abort{attempt.group, round_->id, attempt.number, text});
    }
  }
  const uint64_t from = committed_.step;
  RewindRecord record;
  record.to_round = target;
  record.reason = why;
  record.at = now_;
  const auto checkpoint = history_.checkpoints.find(target);
  if (target) record.to_step = checkpoint->second.state.step;
  const auto undone = history_.commits.upper_bound(target);
  if (undone != history_.commits.end()) record.first_undone = undone->first;
  Journal(record);
  const std::string where =
      fmt::format("{}{}", target ? "the checkpoint of step " : "step ", record.to_step);
  const uint64_t again = from - record.to_step;
  Note("rewound", again == 0
                      ? fmt::format("{}: it goes on from {}; no step is done again", why, where)
                      : fmt::format("{}: back from step {} to {}; {} {} done again", why, from,
                                    where, Counted(again, "step"), again == 1 ? "is" : "are"));
  TrimCheckpointsKept();
  ForgetUndone(record.to_step);
  return Go(Phase::kBorder);
}

// Once the records of this event are on disk, so that a checkpoint is there for as long as a rewind
// may choose it.
void JobMachine::Impl::TrimCheckpointsKept() {
  auto& kept = history_.checkpoints;
  while (kept.size() > config_.checkpoint_keep) kept.erase(kept.begin());
  TrimCheckpoints trim{kept.empty() ? 0 : kept.rbegin()->second.state.step};
  for (const auto& [name, worker] : roster_.workers()) {
    if (!worker.gone()) trim.alive.emplace_back(name, worker.incarnation);
  }
  out_.effects.emplace_back(std::move(trim));
}

// Every incarnation of before is a joiner, or restored from its file.
void JobMachine::Impl::ForgetUndone(uint64_t to_step) {
  for (auto& [name, worker] : roster_.workers()) {
    worker.holds.reset();
    worker.debt = Debt::kAll;
    worker.form_mismatches = 0;
  }
  assembly_.reset();
  group_.reset();
  round_.reset();
  evaluation_.reset();
  save_.reset();
  unreadable_for_.clear();
  inspections_.clear();
  unread_since_.reset();
  partials_.reset();
  partials_asked_ = false;
  without_holder_since_.reset();
  if (evaluated_step_ > to_step) evaluated_step_.reset();
  saved_step_.reset();
  if (to_step > 0) saved_step_ = to_step;
  save_failed_step_.reset();
}

// The members of a parallel round have different parameters. They go back, unless that has happened
// again and again at the same place.
bool JobMachine::Impl::RewindAfterSplit() {
  constexpr int kSplitsMax = 3;
  if (round_->first_step > split_step_) splits_ = 0;
  split_step_ = std::max(split_step_, round_->first_step);
  const std::string why =
      fmt::format("the members of parallel round {} have different parameters", round_->id);
  if (splits_ + 1 >= kSplitsMax) return Fail(fmt::format("{}, {} times", why, kSplitsMax));
  if (!Rewind(why)) return false;
  ++splits_;
  return true;
}

// The first group's needs: who makes the state, who reads it from files, who takes it from a peer.
std::vector<Member> JobMachine::Impl::NeedsAtStart(const std::vector<std::string>& names) const {
  std::vector<Member> members;
  for (const std::string& name : names) {
    members.push_back({name, roster_.Find(name)->incarnation, StateNeed::kAll});
  }
  if (!committed_.round) {
    members.front().need = StateNeed::kInitial;
    return members;
  }
  const auto checkpoint = history_.checkpoints.find(committed_.round);
  std::vector<Member*> readers;
  for (Member& member : members) {
    if (unreadable_for_.contains({member.name, member.incarnation})) continue;
    readers.push_back(&member);
  }
  bool any = false;
  for (Member* reader : readers) {
    const auto& files = checkpoint->second.local_files;
    if (std::find(files.begin(), files.end(), reader->name) == files.end()) continue;
    reader->need = StateNeed::kFile;
    any = true;
  }
  if (!any && !readers.empty()) readers.front()->need = StateNeed::kFile;
  return members;
}

// `member` said that it cannot use the checkpoint's files. It may be alone with that.
void JobMachine::Impl::OnFileFailure(const Member& member, const std::string& text) {
  if (round_) {  // A partial: the round is not to be had in this way.
    partials_ = PartialsFound{round_->id, std::nullopt};
    return Note("partial_unreadable", text);
  }
  unreadable_for_.insert({member.name, member.incarnation});
  unreadable_text_ = text;
  Note("checkpoint_unreadable", fmt::format("step {}: {}", committed_.step, text));
  --assembly_failures_;  // The next group is formed without asking it again.
}

// No candidate can read the checkpoint that the job went back to: an older one, if there is one and
// this one is damaged; else they try again.
bool JobMachine::Impl::GoFurtherBack() {
  auto older = history_.checkpoints.find(committed_.round);
  const auto condition = Inspect(older->second.state, /*whole=*/true);
  if (!condition) return phase_ == Phase::kOver;
  if (*condition == CheckpointCondition::kGood) return ReadAgainLater(older->second.state);
  const std::string& what = inspections_[committed_.step].text;
  if (older == history_.checkpoints.begin()) {
    return Fail(fmt::format(
        "the checkpoint of step {} cannot be used, and there is no older one: {}; put its files "
        "right and start again with the same state directory",
        committed_.step, what));
  }
  --older;
  return RewindTo(older->first, fmt::format("the checkpoint of step {} cannot be used: {}",
                                            committed_.step, what));
}

}  // namespace rondo::server
