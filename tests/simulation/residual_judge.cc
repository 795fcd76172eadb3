#include "tests/simulation/residual_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rondo::simulation {

void ResidualJudge::SeeGroup(const server::GroupRecord& record) {
  std::vector<std::string>& members = groups_[record.group.value];
  zeroed_.clear();
  for (const server::Member& member : record.members) {
    members.push_back(fmt::format("{}#{}", member.name, member.incarnation));
    const bool none = member.need == server::StateNeed::kAll ||
                      member.need == server::StateNeed::kValues ||
                      member.need == server::StateNeed::kInitial ||
                      (member.need == server::StateNeed::kFile && FileOf(member.name).empty());
    if (none && reported_.contains(member.name)) zeroed_.insert(member.name);
  }
}

void ResidualJudge::SeeOrder(const server::OrderRecord& record, bool goes_on) {
  CheckTold();
  const std::vector<std::string>& members = groups_[record.group.value];
  if (!goes_on) ordered_.clear();
  ordered_.insert(ordered_.end(), members.begin(), members.end());
  if (goes_on) return;
  mode_changes_ = round_ != 0 && record.mode != mode_;
  const bool rewound = std::exchange(rewound_, false);
  for (const auto& [name, norm] : reported_) {
    const bool here =
        std::any_of(members.begin(), members.end(),
                    [&name = name](const std::string& worker) { return NameOf(worker) == name; });
    if (mode_changes_ || (rewound && !here)) untold_[name] = norm;
  }
  if (mode_changes_) owed_.clear();
}

// What the new states have taken is nobody's any more.
void ResidualJudge::Deliver(const server::CommitRecord& record, uint64_t head) {
  std::map<std::string, Pieces> had;
  for (const std::string& worker : ordered_) {
    had[worker] = owed_.contains(worker) ? owed_.at(worker) : Pieces{};
  }
  Pieces taken;
  for (uint64_t at = record.state_hash; at != head;) {
    const States::State* state = states_->Find(at);
    if (state == nullptr) return;  // The oracle has said so.
    for (const uint64_t work : state->work) {
      const auto worker = had.find(states_->work(work).worker);
      if (worker != had.end() && state->sparse) worker->second.merge(PiecesOf(work));
    }
    for (const Piece& piece : state->delivered) {
      const auto [it, fresh] = delivered_.emplace(piece, record.round.value);
      if (!fresh) Bad(fmt::format("a piece of round {} is delivered again", it->second));
      taken.insert(piece);
    }
    at = state->parent;
  }
  for (const Piece& piece : taken) {
    const bool known = std::any_of(had.begin(), had.end(),
                                   [&](const auto& entry) { return entry.second.contains(piece); });
    if (!known) Bad("what is delivered belongs to nobody in the round");
  }
  owed_.clear();
  last_owed_.clear();
  for (const std::string& worker : groups_[record.group.value]) {
    for (const Piece& piece : taken) had[worker].erase(piece);
    owed_[worker] = last_owed_[NameOf(worker)] = had[worker];
  }
}

void ResidualJudge::CheckReported(const server::CommitRecord& record,
                                  const std::map<std::string, uint64_t>& staged) {
  std::map<std::string, double> now;
  for (const server::ResidualNorm& residual : record.residuals) {
    now[residual.worker] = residual.norm_squared;
  }
  std::map<std::string, double> before = reported_;
  std::map<std::string, double> unknown = now;
  for (const std::string& worker : groups_[record.group.value]) {
    const std::string name = NameOf(worker);
    const auto was = before.find(name);
    const bool had = was != before.end();
    const auto it = staged.find(worker);
    const bool odd = it != staged.end() && it->second != record.state_hash;
    const auto says = now.find(name);
    const double owed = static_cast<double>(owed_[worker].size());
    unknown.erase(name);
    if (odd) {
      if (says != now.end()) Bad(worker + " keeps the residual of a result that was outvoted");
      if (had) untold_[name] = was->second;
    } else if (says != now.end()) {
      if (says->second != owed && !(had && says->second == was->second)) {
        Bad(fmt::format("the journal says that {} has a residual of {}, it has {}", worker,
                        says->second, owed));
      }
    } else if (had && owed > 0) {
      Bad(worker + " has a residual that the journal forgets");
    } else if (had && it == staged.end()) {
      Bad(worker + " may have the result; the journal forgets its residual");
    }
    before.erase(name);
  }
  for (const auto& [name, norm] : unknown) {
    Bad(name + " has a residual, and no part in the commit");
  }
  untold_.insert(before.begin(), before.end());
  reported_ = std::move(now);
}

void ResidualJudge::SeeCommit(const server::CommitRecord& record, uint64_t head,
                              const std::map<std::string, uint64_t>& staged) {
  CheckTold();
  Deliver(record, head);
  CheckReported(record, staged);
  round_ = record.round.value;
  mode_ = record.mode;
  mode_changes_ = false;
  zeroed_.clear();
}

void ResidualJudge::SeeNotice(const server::NoticeRecord& record) {
  if (record.kind == "group_formed" && !zeroed_.empty()) {
    Bad(*zeroed_.begin() + " goes on without the residual that it had, and no event says so");
  }
  if (record.kind != server::kResidualZeroed) return;
  const auto untold = untold_.find(record.worker);
  const auto reported = reported_.find(record.worker);
  if (untold == untold_.end() && reported == reported_.end()) {
    return Bad("an event tells of a residual that " + record.worker + " has not");
  }
  const double norm = untold != untold_.end() ? untold->second : reported->second;
  if (norm != record.residual_norm_squared) Bad("an event tells another norm than was reported");
  if (untold == untold_.end() && !zeroed_.contains(record.worker)) {
    Bad("an event says that the residual of " + record.worker + " is zero, and it is kept");
  }
  untold_.erase(record.worker);
  reported_.erase(record.worker);
  zeroed_.erase(record.worker);
  ++told_;
}

void ResidualJudge::CheckTold() {
  for (const auto& [name, norm] : std::exchange(untold_, {})) {
    Bad(fmt::format("the residual of {} was lost in silence", name));
  }
}

void ResidualJudge::SeeCheckpoint(const server::CheckpointRecord& record) {
  Kept kept{.reported = reported_, .delivered = delivered_, .told = told_, .mode = mode_};
  for (const std::string& worker : groups_.rbegin()->second) {
    const std::string name = NameOf(worker);
    const auto& files = record.local_files;
    if (std::find(files.begin(), files.end(), name) == files.end()) continue;
    kept.files[name] = owed_[worker];
  }
  checkpoints_[record.round.value] = std::move(kept);
}

void ResidualJudge::SeeRewind(const server::RewindRecord& record) {
  const uint64_t to = record.to_round.value;
  checkpoints_.erase(checkpoints_.upper_bound(to), checkpoints_.end());
  const Kept kept = to == 0 ? Kept{} : checkpoints_[to];
  reported_ = kept.reported;
  delivered_ = kept.delivered;
  told_ = kept.told;
  mode_ = kept.mode;
  files_ = kept.files;
  round_ = to;
  rewound_ = true;
  mode_changes_ = false;
  owed_.clear();
  last_owed_.clear();
  untold_.clear();
  zeroed_.clear();
}

void ResidualJudge::SeeEnd(const server::EndRecord& record) {
  CheckTold();
  if (record.residuals_undelivered != told_ + reported_.size()) {
    Bad(
        fmt::format("the end counts {} residuals that were not delivered, {} were zeroed and {} "
                    "are left",
                    record.residuals_undelivered, told_, reported_.size()));
  }
}

Pieces ResidualJudge::FileOf(const std::string& name) const {
  const auto file = files_.find(name);
  return file == files_.end() ? Pieces{} : file->second;
}

void ResidualJudge::SeeFormed(const std::string& worker, uint64_t group, server::StateNeed need,
                              const Pieces& residual) {
  // One that was frozen does not know yet that its group was given up.
  if (group != groups_.rbegin()->first) return;
  const std::string name = NameOf(worker);
  switch (need) {
    case server::StateNeed::kInitial:
    case server::StateNeed::kAll:
    case server::StateNeed::kValues:
      owed_[worker].clear();
      break;
    case server::StateNeed::kFile:
      owed_[worker] = FileOf(name);
      break;
    case server::StateNeed::kPartial:
      owed_[worker] = last_owed_.contains(name) ? last_owed_.at(name) : Pieces{};
      break;
    case server::StateNeed::kHolds:
    case server::StateNeed::kMoments:
    case server::StateNeed::kStep:
      break;
  }
  last_owed_[name] = owed_[worker];
  // What is of another mode is dropped with the first order of the new one, if that comes.
  if (mode_changes_ || owed_[worker] == residual) return;
  Bad(fmt::format("{} goes on with a residual of {} pieces, it must have {}", worker,
                  residual.size(), owed_[worker].size()));
}

void ResidualJudge::SeeApplied(const std::string& worker, uint64_t round, const Pieces& residual) {
  // Who was away may apply what others have gone on from, or what was undone: it is a joiner.
  if (round != round_ || !owed_.contains(worker) || owed_.at(worker) == residual) return;
  Bad(fmt::format("{} applies round {} with a residual of {} pieces, it must have {}", worker,
                  round, residual.size(), owed_.at(worker).size()));
}

}  // namespace rondo::simulation
