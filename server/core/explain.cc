#include "server/core/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "server/core/ledger.h"

namespace rondo::server {
namespace {

// Notices that tell of something done again.
constexpr std::array<std::string_view, 6> kRepeats = {"round_failed",        "group_failed",
                                                      "step_failed",         "save_repeated",
                                                      "evaluation_repeated", "round_voided"};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Why a worker is not there, in the words of the notices that tell it.
struct Reason {
  std::string kind;  // Of the newest one.
  std::string text;
  absl::Time at;  // Of the first one.
};

// What the records say of the round and of its surroundings.
struct Findings {
  std::optional<CommitRecord> before;  // The commit before it, not undone by then.
  absl::Time before_at = absl::InfinitePast();
  std::vector<GroupRecord> groups;   // Since then.
  std::vector<OrderRecord> orders;   // Of the round.
  std::vector<GroupRecord> ordered;  // The groups of those.
  std::optional<CommitRecord> commit;
  std::optional<std::string> voided;
  std::optional<std::string> undone;
  double evaluate_before = 0;
  std::vector<NoticeRecord> notices;
  std::map<std::string, Reason> reasons;  // By worker: the last one.
  std::optional<std::string> chosen;      // Of the collective, before the round.
};

// Whether a notice about a worker says why it is not there, or not in a result.
bool TellsWhyGone(const NoticeRecord& notice) {
  constexpr std::array<std::string_view, 10> kKinds = {
      "worker_away", "worker_silent",  "worker_lost", "worker_stalled",  "worker_left",
      "refused",     "worker_drained", "left_out",    "worker_excluded", "not_finite"};
  return !notice.worker.empty() &&
         std::find(kKinds.begin(), kKinds.end(), notice.kind) != kKinds.end();
}

// What the notice says of its worker, without the name that it begins with.
std::string_view WithoutName(const NoticeRecord& notice) {
  std::string_view text = notice.text;
  for (const std::string& prefix : {notice.worker + ": ", notice.worker + " "}) {
    if (text.substr(0, prefix.size()) != prefix) continue;
    text.remove_prefix(prefix.size());
    break;
  }
  return text;
}

class Finder {
 public:
  explicit Finder(RoundId round) : round_(round) {}

  Findings Take() { return std::move(found_); }

  void See(const TermRecord& record) {
    if (found_.orders.empty()) found_.before_at = std::max(found_.before_at, record.at);
  }
  void See(const GroupRecord& record) {
    known_[record.group] = record;
    if (!closed_) found_.groups.push_back(record);
  }
  void See(const OrderRecord& record) {
    if (record.round > round_) closed_ = true;
    if (record.round != round_) return;
    found_.orders.push_back(record);
    const auto group = known_.find(record.group);
    if (group != known_.end()) found_.ordered.push_back(group->second);
  }
  void See(const CommitRecord& record) {
    if (record.round == round_) {
      found_.commit = record;
      closed_ = true;
    } else if (record.round < round_) {
      found_.before = record;
      StartAfter(record.at);
    }
  }
  void See(const VoidRecord& record) {
    if (record.round != round_) return;
    found_.voided = record.reason;
    closed_ = true;
  }
  void See(const RewindRecord& record) {
    const bool ordered = !found_.orders.empty();
    if (ordered && !found_.voided && record.to_round < round_) {
      found_.undone = record.reason;
      closed_ = true;
    } else if (!ordered) {
      found_.before.reset();  // The round goes on from the checkpoint.
      StartAfter(record.at);
    }
  }
  void See(const EvaluationRecord& record) {
    if (found_.orders.empty()) found_.evaluate_before += record.seconds;
  }
  void See(const NoticeRecord& record) {
    if (record.kind == kCollectiveChosen && found_.orders.empty()) found_.chosen = record.text;
    if (TellsWhyGone(record) && record.round <= round_) Add(record);
    // What comes after a return is another story.
    const auto reason = found_.reasons.find(record.worker);
    if (record.kind == "worker_returned" && reason != found_.reasons.end()) {
      reason->second.kind.clear();
    }
    const bool its_own = record.round == round_;
    if (its_own || (!closed_ && !record.round)) found_.notices.push_back(record);
  }
  void See(const ReferenceRecord&) {}
  void See(const CheckpointRecord&) {}
  void See(const RequestRecord&) {}
  void See(const EndRecord&) { closed_ = true; }

 private:
  // Who is away is lost some time later: that is one story, and it began when the worker went.
  void Add(const NoticeRecord& record) {
    Reason& reason = found_.reasons[record.worker];
    const bool went = reason.kind == "worker_away" || reason.kind == "worker_silent";
    if (record.kind == "worker_lost" && went) {
      reason.text += fmt::format("; {}", WithoutName(record));
    } else {
      reason.text = std::string(WithoutName(record));
      reason.at = record.at;
    }
    reason.kind = record.kind;
  }
  void StartAfter(absl::Time at) {
    found_.before_at = at;
    found_.groups.clear();
    found_.notices.clear();
    found_.evaluate_before = 0;
  }

  const RoundId round_;
  std::map<GroupId, GroupRecord> known_;
  Findings found_;
  bool closed_ = false;  // What comes now is no longer the round's.
};

// The lowest rank that has the state gives it.
std::string GiverOf(const GroupRecord& group) {
  for (const Member& member : group.members) {
    const bool has = member.need == StateNeed::kHolds || member.need == StateNeed::kInitial ||
                     member.need == StateNeed::kFile || member.need == StateNeed::kPartial;
    if (has) return member.name;
  }
  return "a member";
}

std::string TellNeed(StateNeed need, const std::string& giver) {
  switch (need) {
    case StateNeed::kHolds:
      return "held the state";
    case StateNeed::kInitial:
      return "made the initial state";
    case StateNeed::kAll:
      return fmt::format("took parameters, buffers and moments from {}", giver);
    case StateNeed::kValues:
      return fmt::format("took parameters and buffers from {} and kept its moments", giver);
    case StateNeed::kStep:
      return fmt::format("took the result of one step from {}", giver);
    case StateNeed::kMoments:
      return fmt::format("took the moments from {}", giver);
    case StateNeed::kFile:
      return "took its state from the files of a checkpoint";
    case StateNeed::kPartial:
      return "went on from its partial of the round";
  }
  return "";
}

void TellWhy(const Findings& found, MemberChange& change) {
  const auto reason = found.reasons.find(change.worker);
  if (reason == found.reasons.end()) return;
  change.text = reason->second.text;
  change.at = reason->second.at;
}

std::vector<MemberChange> ChangesOf(const Findings& found, const RoundStory& story) {
  std::vector<MemberChange> changes;
  const std::vector<std::string> none;
  const std::vector<std::string>& before = found.before ? found.before->members : none;
  for (const std::string& name : before) {
    if (Contains(story.members, name)) continue;
    changes.push_back({name, ChangeKind::kGone, "", absl::InfinitePast()});
    TellWhy(found, changes.back());
  }
  for (const GroupRecord& group : found.groups) {
    for (const Member& member : group.members) {
      if (member.need == StateNeed::kHolds || !Contains(story.members, member.name)) continue;
      const bool joins = !Contains(before, member.name);
      changes.push_back({member.name, joins ? ChangeKind::kJoined : ChangeKind::kTookOver,
                         TellNeed(member.need, GiverOf(group)), group.at});
    }
  }
  if (!found.commit) return changes;
  for (const std::string& name : story.members) {
    if (Contains(story.contributors, name)) continue;
    changes.push_back({name, ChangeKind::kDropped, "", absl::InfinitePast()});
    TellWhy(found, changes.back());
  }
  return changes;
}

RoundSamples SamplesOf(const Findings& found, const RoundStory& story) {
  RoundSamples samples;
  for (const OrderRecord& order : found.orders) samples.tail_dropped += order.tail_dropped;
  if (!found.commit) return samples;
  samples.used = found.commit->samples;
  const OrderRecord& order = found.orders.back();
  std::vector<std::string> reduced;  // Who took part in the attempt.
  for (const auto* groups : {&found.groups, &found.ordered}) {
    for (const GroupRecord& group : *groups) {
      if (group.group != found.commit->group) continue;
      for (const Member& member : group.members) reduced.push_back(member.name);
    }
  }
  for (size_t rank = 0; rank < std::min(order.runs.size(), story.members.size()); ++rank) {
    const std::string& name = story.members[rank];
    if (Contains(story.contributors, name)) continue;
    auto& where = Contains(reduced, name) ? samples.not_finite : samples.returned;
    where.push_back({name, CountSamples(order.runs[rank])});
  }
  return samples;
}

RoundCost CostOf(const Findings& found) {
  RoundCost cost;
  cost.evaluate_before = found.evaluate_before;
  if (found.before_at != absl::InfinitePast()) {
    cost.before = std::max(0.0, absl::ToDoubleSeconds(found.orders.front().at - found.before_at));
  }
  if (!found.commit) return cost;
  cost.total = found.commit->seconds;
  cost.steps = found.commit->step_seconds;
  cost.reduce = found.commit->reduce_seconds;
  cost.control = found.commit->control_seconds;
  return cost;
}

// Why the round has its collective, in words.
std::string TellCollective(const CollectiveConfig& config, const Findings& found) {
  const OrderRecord& order = found.orders.front();
  switch (config.kind) {
    case Collective::kRing:
      return "";
    case Collective::kAuto:
      return found.chosen.value_or("auto: ring and sparse take turns while they are measured");
    case Collective::kSparse:
    case Collective::kTopkGather:
      break;
  }
  std::string text = fmt::format("{}, as the job asks for", NameOf(config.kind));
  if (order.density == config.density) return text;
  return text + fmt::format("; its density falls from {} at step 0 to {} at step {}",
                            config.warmup_density, config.density, config.warmup_steps);
}

void TellFate(const Findings& found, RoundStory& story) {
  if (found.undone) {
    story.fate = RoundFate::kUndone;
    story.fate_text = *found.undone;
  } else if (found.voided) {
    story.fate = RoundFate::kVoided;
    story.fate_text = *found.voided;
  } else if (found.commit) {
    story.fate = RoundFate::kCommitted;
  }
}

}  // namespace

absl::StatusOr<RoundStory> ExplainRound(const ExplainConfig& config,
                                        std::span<const Record> records, RoundId round) {
  Finder finder(round);
  for (const Record& record : records) {
    std::visit([&finder](const auto& r) { finder.See(r); }, record);
  }
  Findings found = finder.Take();
  if (found.orders.empty() || found.ordered.empty()) {
    return absl::NotFoundError(fmt::format("round {} was never ordered", round));
  }
  RoundStory story;
  story.round = round;
  story.group = found.orders.front().group;
  story.first_step = found.orders.front().first_step;
  story.orders = found.orders.size();
  story.length =
      ExplainLength(config.policy, config.schedule, static_cast<int64_t>(story.first_step));
  for (const Member& member : found.ordered.back().members) story.members.push_back(member.name);
  story.collective = found.orders.front().collective;
  story.density = found.orders.front().density;
  story.collective_text = TellCollective(config.collective, found);
  if (found.commit) {
    story.sparse = SummaryOf(*found.commit);
    story.contributors = found.commit->contributors;
    story.attempts = found.commit->attempts;
  }
  TellFate(found, story);
  story.changes = ChangesOf(found, story);
  for (const NoticeRecord& notice : found.notices) {
    const bool again = std::find(kRepeats.begin(), kRepeats.end(), notice.kind) != kRepeats.end();
    if (again) story.repeats.push_back({notice.kind, notice.text, notice.at, notice.seconds});
    if (notice.kind == "round_failed") story.attempts = std::max(story.attempts, 1u);
  }
  story.samples = SamplesOf(found, story);
  story.cost = CostOf(found);
  story.notices = std::move(found.notices);
  return story;
}

}  // namespace rondo::server
