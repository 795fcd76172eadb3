#include "server/core/steady_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <variant>

namespace rondo::server {
namespace {

std::vector<std::string> NamesOf(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  return names;
}

class Finder {
 public:
  // False: the steady rounds have ended.
  bool See(const GroupRecord& record) {
    const bool partials =
        std::any_of(record.members.begin(), record.members.end(),
                    [](const Member& m) { return m.need == StateNeed::kPartial; });
    if (partials) {
      return End(
          fmt::format("group {} went on in the middle of a round, from what its members had "
                      "saved there",
                      record.group));
    }
    const bool first = record.purpose == Purpose::kStart || record.purpose == Purpose::kJoin;
    if (found_.commits.empty() && first) {  // The last one of them made the first state.
      found_.members = record.members;
      return true;
    }
    const bool same = std::equal(
        record.members.begin(), record.members.end(), found_.members.begin(), found_.members.end(),
        [](const Member& a, const Member& b) {
          return a.name == b.name && a.incarnation == b.incarnation && a.need == StateNeed::kHolds;
        });
    return same || End(fmt::format("group {} has other {}", record.group,
                                   NamesOf(record.members) == NamesOf(found_.members)
                                       ? "processes, or members that had to be given a state"
                                       : "members"));
  }
  bool See(const CommitRecord& record) {
    if (record.contributors != NamesOf(found_.members)) {
      return End(fmt::format("round {} is not the work of all members", record.round));
    }
    found_.commits.push_back(record);
    return true;
  }
  bool See(const OrderRecord& record) {
    const bool again = record.round == last_order_;
    last_order_ = record.round;
    return !again || End(fmt::format("a step of round {} had to be repaired", record.round));
  }
  bool See(const RewindRecord& record) {
    return End(fmt::format("the job went back to step {}", record.to_step));
  }
  bool See(const NoticeRecord& record) {
    return record.kind != kMomentsZeroed ||
           End(fmt::format("moments of {} began at zero", record.worker));
  }
  template <typename Other>
  bool See(const Other&) {
    return true;
  }

  SteadyRounds Take() { return std::move(found_); }

 private:
  bool End(std::string why) {
    found_.ended_by = std::move(why);
    return false;
  }

  SteadyRounds found_;
  RoundId last_order_;
};

}  // namespace

SteadyRounds FindSteadyRounds(std::span<const Record> records) {
  Finder finder;
  for (const Record& record : records) {
    if (!std::visit([&finder](const auto& r) { return finder.See(r); }, record)) break;
  }
  return finder.Take();
}

}  // namespace rondo::server
