// Whether an attempt's result is the job's state (rule 6 of proto/RULES.md). Pure.
#ifndef RONDO_SERVER_CORE_VOTE_H_
#define RONDO_SERVER_CORE_VOTE_H_

#include <cstdint>
#include <optional>
#include <span>

namespace rondo::server {

// One contributor, once there is nothing more to wait for.
struct Ballot {
  std::optional<uint64_t> hash;  // Of its staged result; nothing: it failed or dropped out.
  bool present = true;           // Its stream is open.
};

struct VoteResult {
  std::optional<uint64_t> hash;  // The committed result; nothing: no majority.
  bool split = false;            // The reported hashes differ.
};

// A strict majority of all contributors, silent ones too, with one hash, of whom at least one is
// present. (Of two: both. One alone cannot be contradicted.)
VoteResult DecideVote(std::span<const Ballot> ballots);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_VOTE_H_
