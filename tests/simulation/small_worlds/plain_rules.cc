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

// ---------------------------------------------------------------------------- who is there

bool PlainRules::Here(const Who& who) const {
  const auto it = members_.find(who.first);
  return it != members_.end() && it->second.incarnation == who.second && it->second.stream != 0 &&
         !it->second.lost;
}

std::optional<absl::Time> PlainRules::Awaited(const Who& who, absl::Time since) const {
  const auto it = members_.find(who.first);
  if (it == members_.end() || it->second.incarnation != who.second) return std::nullopt;
  const Member& m = it->second;
  if (m.lost || m.stream != 0 || m.silent) return std::nullopt;
  const absl::Time until = std::max(m.broke, since) + limits_.return_wait;
  return until > now_ ? std::optional(until) : std::nullopt;
}

PlainRules::Member* PlainRules::Find(const Who& who, uint64_t stream) {
  const auto it = members_.find(who.first);
  if (it == members_.end() || it->second.incarnation != who.second) return nullptr;
  if (it->second.stream != stream) return nullptr;  // Rule 2.
  it->second.heard = now_;
  return &it->second;
}

PlainRules::Decisions PlainRules::Hello(const PlainHello& hello, absl::Time now) {
  now_ = now;
  const auto known = members_.find(hello.who.first);
  const bool same = known != members_.end() && known->second.incarnation == hello.who.second;
  const bool has_place = known != members_.end() && !known->second.lost;
  if (same && hello.dial <= known->second.dial) {
    Say("close");
    return Turn();
  }
  if (known != members_.end() && !same && known->second.stream != 0 && !known->second.lost) {
    Say("wait");
    return Turn();
  }
  const size_t places = static_cast<size_t>(std::count_if(
      members_.begin(), members_.end(), [](const auto& entry) { return !entry.second.lost; }));
  if (!has_place && places >= limits_.workers) {
    Say("wait");
    return Turn();
  }
  Member& m = members_[hello.who.first];
  if (!same) m = Member{};
  m.incarnation = hello.who.second;
  m.dial = hello.dial;
  m.stream = hello.stream;
  m.heard = now_;
  m.silent = m.lost = false;
  Say("welcome " + Text(hello.who));

  // Rules 7 and 8: what it holds, and what it must take.
  if (hello.holds != 0) {
    m.holds = history_.contains(hello.holds) ? std::optional(hello.holds) : std::nullopt;
  } else if (m.holds && *m.holds != 0) {
    m.holds.reset();
  }
  bool odd = false;
  if (hello.staged) {
    const auto it = history_.find(hello.staged->round);
    odd = hello.staged->round == committed_;
    if (it != history_.end() && it->second.group == hello.staged->group &&
        it->second.attempt == hello.staged->attempt && it->second.hash == hello.staged->hash) {
      m.holds = hello.staged->round;
      odd = false;
    }
  }
  const bool current = m.holds == committed_;
  const auto part = parts_.find(hello.who);
  if (round_ != 0 && part != parts_.end()) {
    part->second.carries = current && hello.order == round_;
    if (!part->second.carries) part->second.ready = false;
    // Rule 3: the order comes again if its group is still the one.
    if (!part->second.carries && current && phase_ == Phase::kTraining &&
        order_group_ == group_id_) {
      part->second.carries = true;
    }
  }
  if (!current) {
    m.values_only = m.holds && (hello.order == 0 || (hello.order == committed_ && !odd &&
                                                     in_last_commit_.contains(hello.who)));
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Closed(uint64_t stream, absl::Time now) {
  now_ = now;
  for (auto& [name, m] : members_) {
    if (m.stream != stream) continue;
    m.stream = 0;
    m.broke = now_;
    m.silent = false;
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Heard(const Who& who, uint64_t stream, absl::Time now) {
  now_ = now;
  Find(who, stream);
  return Turn();
}

PlainRules::Decisions PlainRules::Prepared(const Who& who, uint64_t stream, absl::Time now) {
  now_ = now;
  if (Member* m = Find(who, stream)) m->prepared = true;
  return Turn();
}

PlainRules::Decisions PlainRules::Endpoint(const Who& who, uint64_t stream, uint64_t group,
                                           absl::Time now) {
  now_ = now;
  if (Find(who, stream) != nullptr && phase_ == Phase::kAssembling && group == last_group_) {
    endpoints_.insert(who);
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Formed(const Who& who, uint64_t stream, uint64_t group,
                                         absl::Time now) {
  now_ = now;
  if (Find(who, stream) != nullptr && phase_ == Phase::kAssembling && group == last_group_ &&
      endpoints_.size() == forming_.size()) {
    formed_.insert(who);
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Ready(const Who& who, uint64_t stream, uint64_t round,
                                        absl::Time now) {
  now_ = now;
  if (Find(who, stream) != nullptr && round == round_ && parts_.contains(who)) {
    parts_[who] = {.carries = true, .ready = true};
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Reported(const Who& who, uint64_t stream, uint64_t round,
                                           uint64_t group, uint64_t attempt,
                                           std::optional<uint64_t> hash, absl::Time now) {
  now_ = now;
  if (Find(who, stream) != nullptr && phase_ == Phase::kReducing && round == round_ &&
      group == group_id_ && attempt == attempts_ && reports_.contains(who)) {
    Report& report = reports_[who];
    if (!report.failed && !report.hash) report = {.failed = !hash, .hash = hash};
  }
  return Turn();
}

PlainRules::Decisions PlainRules::Timer(absl::Time now) {
  now_ = now;
  return Turn();
}

void PlainRules::Streams() {
  for (auto& [name, m] : members_) {
    if (m.lost) continue;
    if (m.stream != 0 && now_ >= m.heard + limits_.silent) {
      m.stream = 0;
      m.silent = true;
      m.broke = now_;
    }
    if (m.stream == 0 && now_ >= (m.silent ? m.heard : m.broke) + limits_.lost) m.lost = true;
  }
}

// ---------------------------------------------------------------------------- the job's turn

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
