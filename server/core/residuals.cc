#include "server/core/residuals.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::server {
namespace {

// One that is not finite takes no part in a local round's reduce: nothing of its residual was
// delivered there. In a parallel round its other steps may have delivered all of it.
bool ZeroedAsNotFinite(const Round& round, const RoundMember& member) {
  return !IsFinite(member) && round.mode == RoundMode::kLocal;
}

}  // namespace

ResidualsAfter DecideResiduals(const Round& round, uint64_t hash, const Residuals& before) {
  Residuals kept;
  Residuals open = before;  // Whose fate is not decided yet.
  std::vector<LostResidual> lost;
  const auto lose = [&](const std::string& worker, std::string why) {
    const auto it = before.find(worker);
    if (it != before.end()) lost.push_back({worker, it->second, std::move(why)});
  };
  for (const Contribution& contribution : round.attempt->contributions) {
    const RoundMember& member = round.members[contribution.member];
    const auto was = open.find(member.name);
    if (!contribution.reduced) {
      if (was != open.end()) kept[member.name] = was->second;
    } else if (contribution.reduced->state_hash != hash) {
      lose(member.name, fmt::format("its result of round {} differed", round.id));
    } else if (contribution.reduced->residual_norm_squared > 0) {
      kept[member.name] = contribution.reduced->residual_norm_squared;
    } else if (ZeroedAsNotFinite(round, member)) {
      lose(member.name, fmt::format("it was not finite in round {}", round.id));
    }
    open.erase(member.name);
  }
  for (const auto& [worker, norm] : open) {
    lose(worker, fmt::format("it has no part in the result of round {}", round.id));
  }
  std::sort(lost.begin(), lost.end(),
            [](const LostResidual& a, const LostResidual& b) { return a.worker < b.worker; });
  ResidualsAfter after;
  for (const auto& [worker, norm] : kept) after.kept.push_back({worker, norm});
  after.lost = std::move(lost);
  return after;
}

std::optional<LostResidual> LostInForming(const Member& member, double reported,
                                          const Residuals& before) {
  const auto was = before.find(member.name);
  if (was == before.end() || reported > 0) return std::nullopt;
  const auto lost = [&](std::string why) {
    return LostResidual{member.name, was->second, std::move(why)};
  };
  switch (member.need) {
    case StateNeed::kHolds:
    case StateNeed::kStep:  // It goes on with the step's result: what left was delivered.
      return std::nullopt;
    case StateNeed::kInitial:
    case StateNeed::kAll:
    case StateNeed::kValues:
      return lost("it took its state from a peer");
    case StateNeed::kMoments:
      return lost("it was not finite");
    case StateNeed::kFile:
    case StateNeed::kPartial:
      return lost("the file that it read has none");
  }
  return std::nullopt;
}

std::vector<LostResidual> LostWithMode(RoundMode before, RoundMode now,
                                       const Residuals& residuals) {
  std::vector<LostResidual> lost;
  if (before == now) return lost;
  for (const auto& [worker, norm] : residuals) {
    lost.push_back({worker, norm,
                    fmt::format("rounds are {} from here on, and it is of {} ones",
                                now == RoundMode::kLocal ? "local" : "parallel",
                                before == RoundMode::kLocal ? "local" : "parallel")});
  }
  return lost;
}

std::vector<LostResidual> LostWithFiles(const std::vector<RoundMember>& members,
                                        const Residuals& before) {
  std::vector<LostResidual> lost;
  for (const auto& [worker, norm] : before) {
    const bool here =
        std::any_of(members.begin(), members.end(),
                    [&worker = worker](const RoundMember& m) { return m.name == worker; });
    if (here) continue;
    lost.push_back({worker, norm, "it is not among those who went on from the checkpoint"});
  }
  return lost;
}

}  // namespace rondo::server
