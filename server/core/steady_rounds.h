// The rounds from the start of a run on in which nothing happened to its members: who trains them
// again from the first state must come to the same parameters. Pure.
#ifndef RONDO_SERVER_CORE_STEADY_ROUNDS_H_
#define RONDO_SERVER_CORE_STEADY_ROUNDS_H_

#include <span>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::server {

struct SteadyRounds {
  std::vector<Member> members;        // Of the first group, rank order.
  std::vector<CommitRecord> commits;  // Each by all of them; from the first round on.
  // Why it ends there, in words; empty: with the journal's last commit.
  std::string ended_by;
};

// A group that was made anew with the same processes, all of which held the state, changes nothing.
SteadyRounds FindSteadyRounds(std::span<const Record> records);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_STEADY_ROUNDS_H_
