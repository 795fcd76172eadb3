#include "server/core/vote.h"

#include <map>

namespace rondo::server {

VoteResult DecideVote(std::span<const Ballot> ballots) {
  struct Tally {
    size_t votes = 0;
    bool witness = false;
  };
  std::map<uint64_t, Tally> tallies;
  for (const Ballot& ballot : ballots) {
    if (!ballot.hash) continue;
    Tally& tally = tallies[*ballot.hash];
    ++tally.votes;
    tally.witness = tally.witness || ballot.present;
  }
  VoteResult result;
  result.split = tallies.size() > 1;
  for (const auto& [hash, tally] : tallies) {
    if (2 * tally.votes > ballots.size() && tally.witness) result.hash = hash;
  }
  return result;
}

}  // namespace rondo::server
