#include "tests/simulation/small_worlds/plain_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::small_worlds {
namespace {

std::string Text(const Who& who) { return fmt::format("{}#{}", who.first, who.second); }

template <typename Range>
std::string Text(const Range& range) {
  std::string text;
  for (const Who& who : range) text += (text.empty() ? "" : " ") + Text(who);
  return text;
}

}  // namespace

PlainRules::Decisions PlainRules::Turn() {
  Streams();
  while (OneTurn()) {
  }
  return std::exchange(said_, {});
}

bool PlainRules::OneTurn() {
  switch (phase_) {
    case Phase::kBorder:
      return Border();
    case Phase::kAssembling:
      return Assembling();
    case Phase::kTraining:
      return Training();
    case Phase::kReducing:
      return Reducing();
    case Phase::kOver:
      return false;
  }
  return false;
}

bool PlainRules::Go(Phase phase) {
  phase_ = phase;
  since_ = now_;
  return true;
}

// Who goes on: whoever is here and prepared; a holder gives the state to the others.
bool PlainRules::Border() {
  for (const Who& who : group_) {
    if (Awaited(who, since_)) return false;
  }
  std::vector<Who> here;
  bool holder = false;
  for (const auto& [name, m] : members_) {
    const Who who{name, m.incarnation};
    if (!Here(who)) continue;
    holder = holder || m.holds == committed_;
    if (m.prepared) here.push_back(who);
  }
  if (!holder) {
    group_.clear();
    group_id_ = 0;
    if (committed_ != 0) return Go(Phase::kOver) && (Say("nobody holds the state"), false);
    const size_t enough = last_group_ == 0 ? limits_.workers : 1;
    return here.size() >= enough && Assemble("start", here);
  }
  const bool all_hold = std::all_of(here.begin(), here.end(), [&](const Who& who) {
    return members_[who.first].holds == committed_;
  });
  if (!all_hold || here != group_) return Assemble("join", here);
  round_ = ++last_round_;
  order_group_ = group_id_;
  parts_.clear();
  for (const Who& who : group_) parts_[who].carries = true;
  missed_ = absl::InfiniteFuture();
  attempts_ = splits_ = 0;
  Say(fmt::format("order {} of group {}", round_, group_id_));
  return Go(Phase::kTraining);
}

bool PlainRules::Assemble(const std::string& purpose, const std::vector<Who>& who) {
  ++last_group_;
  group_.clear();
  group_id_ = 0;
  forming_ = who;
  retry_ = purpose == "retry";
  endpoints_.clear();
  formed_.clear();
  forming_since_ = now_;
  std::string needs;
  for (const Who& w : who) {
    const Member& m = members_[w.first];
    const char* need = m.holds == committed_ ? "" : m.values_only ? "=values" : "=all";
    if (purpose == "retry") need = "";
    if (purpose == "start") need = w == who.front() ? "=initial" : "=all";
    needs += " " + Text(w) + need;
  }
  Say(fmt::format("group {} to {}:{}", last_group_, purpose, needs));
  return Go(Phase::kAssembling);
}

bool PlainRules::Assembling() {
  for (const Who& who : forming_) {
    if (!Here(who) && !Awaited(who, forming_since_)) return EndAssembly();
  }
  if (formed_.size() == forming_.size()) {
    group_ = forming_;
    group_id_ = last_group_;
    for (const Who& who : group_) {
      if (!retry_) members_[who.first].holds = committed_;
    }
    Say(fmt::format("group {} is formed", group_id_));
    return Go(round_ != 0 ? Phase::kTraining : Phase::kBorder);
  }
  if (now_ < forming_since_ + limits_.assemble) return false;
  for (const Who& who : forming_) {
    Member& m = members_[who.first];
    if (formed_.contains(who) || m.stream == 0) continue;
    m.stream = 0;
    m.silent = true;
    m.broke = now_;
  }
  return EndAssembly();
}

bool PlainRules::EndAssembly() {
  Say(fmt::format("abort group {}", last_group_));
  return Go(round_ != 0 ? Phase::kTraining : Phase::kBorder);
}

// Rules 11 and 12.
bool PlainRules::Training() {
  std::vector<Who> able;
  for (const auto& [who, part] : parts_) {
    if (Here(who) && part.carries) able.push_back(who);
  }
  for (const Who& who : able) {
    if (parts_[who].ready) continue;
    missed_ = absl::InfiniteFuture();
    return false;
  }
  missed_ = std::min(missed_, now_);
  for (const auto& [who, part] : parts_) {
    if (Awaited(who, missed_)) return false;
  }
  if (!able.empty() && able != group_) return Assemble("retry", able);
  if (!able.empty()) {
    ++attempts_;
    reports_.clear();
    for (const Who& who : group_) reports_[who] = {};
    attempt_since_ = now_;
    report_by_ = absl::InfiniteFuture();
    Say(fmt::format("reduce round {} attempt {}: {}", round_, attempts_, Text(group_)));
    return Go(Phase::kReducing);
  }
  for (const auto& [who, part] : parts_) {
    const auto it = members_.find(who.first);
    const bool gone =
        it == members_.end() || it->second.incarnation != who.second || it->second.lost;
    if (!gone) return false;
  }
  // Rule 21: for a void somebody must hold the state; else one of the lost may bring the round
  // back.
  const bool holder = std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return Here({entry.first, entry.second.incarnation}) && entry.second.holds == committed_;
  });
  if (committed_ != 0 && !holder) {
    Say("nobody holds the state");
    Go(Phase::kOver);
    return false;
  }
  Say(fmt::format("void round {}", round_));
  round_ = 0;
  parts_.clear();
  group_.clear();
  group_id_ = 0;
  return Go(Phase::kBorder);
}

// Rule 6.
bool PlainRules::Reducing() {
  bool may_come = false;
  bool missing = false;
  std::map<uint64_t, std::pair<size_t, bool>> votes;  // Hash -> how many, one of them here.
  for (const auto& [who, report] : reports_) {
    if (report.hash) {
      auto& [count, here] = votes[*report.hash];
      ++count;
      here = here || Here(who);
    } else if (!report.failed) {
      missing = true;
      if (Here(who) || Awaited(who, since_)) {
        may_come = true;
        continue;
      }
      report_by_ = std::min(report_by_, now_ + limits_.report);
    } else {
      report_by_ = std::min(report_by_, now_ + limits_.report);
    }
  }
  const absl::Time limit = std::min(report_by_, attempt_since_ + limits_.collective);
  if (missing && may_come && now_ < limit) return false;
  for (const auto& [hash, vote] : votes) {
    if (2 * vote.first > reports_.size() && vote.second) return Commit(hash);
  }
  Say(fmt::format("abort round {} attempt {}", round_, attempts_));
  group_.clear();
  group_id_ = 0;
  splits_ += votes.size() > 1 ? 1 : 0;
  if (attempts_ >= limits_.attempts || splits_ > 2) {
    Say("the job fails");
    Go(Phase::kOver);
    return false;
  }
  return Go(Phase::kTraining);
}

bool PlainRules::Commit(uint64_t hash) {
  committed_ = round_;
  history_[round_] = {round_, group_id_, attempts_, hash};
  in_last_commit_.clear();
  for (const auto& [who, part] : parts_) {
    Member& m = members_[who.first];
    if (m.incarnation == who.second) m.values_only = false;
  }
  for (const auto& [who, report] : reports_) {
    in_last_commit_.insert(who);
    Member& m = members_[who.first];
    if (m.incarnation != who.second) continue;
    if (report.hash == hash) {
      m.holds = round_;
    } else if (report.hash) {
      m.holds.reset();
    } else {
      m.values_only = true;
    }
  }
  Say(fmt::format("commit round {} attempt {}: {}", round_, attempts_, Text(in_last_commit_)));
  round_ = 0;
  parts_.clear();
  return Go(Phase::kBorder);
}

std::string PlainRules::Key() const {
  std::string key = fmt::format("{} {} {} {} {} {} {} {}|", static_cast<int>(phase_), last_group_,
                                group_id_, committed_, round_, order_group_, attempts_, splits_);
  const auto ago = [this](absl::Time t) {
    return absl::ToInt64Milliseconds(std::min(now_ - t, absl::Minutes(2)));
  };
  for (const auto& [name, m] : members_) {
    key += fmt::format("{}{}.{} {} {} {}{}{} {} {};", name, m.incarnation, m.dial, m.stream != 0,
                       m.stream != 0 || m.silent ? ago(m.heard) : -1,
                       m.stream != 0 ? -1 : ago(m.broke), m.silent, m.prepared, m.lost,
                       m.holds ? static_cast<int64_t>(*m.holds) : -1, m.values_only);
  }
  key += Text(group_) + "|" + Text(forming_) + "|" + Text(endpoints_) + "|" + Text(formed_) + "|";
  for (const auto& [who, part] : parts_) key += fmt::format("{}{}", part.carries, part.ready);
  if (phase_ == Phase::kReducing) {
    for (const auto& [who, report] : reports_) {
      key += fmt::format("{}{}{:x}", Text(who), report.failed, report.hash.value_or(0));
    }
    key += fmt::format("{} {}", ago(attempt_since_), ago(std::min(report_by_, now_)));
  }
  return key + fmt::format("{} {}", ago(since_), ago(std::min(missed_, now_)));
}

}  // namespace rondo::small_worlds
