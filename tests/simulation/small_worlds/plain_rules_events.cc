// What happens to the plain rules: workers come and go and say something.
#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/small_worlds/plain_rules.h"

namespace rondo::small_worlds {

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
  Say(fmt::format("welcome {}#{}", hello.who.first, hello.who.second));

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

}  // namespace rondo::small_worlds
