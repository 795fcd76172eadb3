// A group being formed: endpoints come in, the mesh goes out, members report that they are formed.
#ifndef RONDO_SERVER_CORE_ASSEMBLY_H_
#define RONDO_SERVER_CORE_ASSEMBLY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace rondo::server {

// A fixed membership. Rank = index.
struct Group {
  GroupId id;
  std::vector<Member> members;

  std::optional<uint32_t> RankOf(const std::string& name, Incarnation incarnation) const;
};

// True if both have the same names and incarnations in the same ranks.
bool SameMembers(const std::vector<Member>& a, const std::vector<Member>& b);

struct Assembly {
  Group group;
  Assemble message;
  std::vector<std::optional<std::string>> blobs;  // By rank.
  std::vector<std::optional<uint64_t>> formed;    // By rank: state hash.
  std::vector<uint64_t> stand_at;                 // By rank: the next step; of a repair.
  std::vector<double> residuals;                  // By rank: squared norm of what it goes on with.
  bool meshed = false;
  absl::Time began;
  absl::Time deadline;
  std::optional<std::string> failure;  // Why it cannot succeed.

  bool AllEndpoints() const;
  bool AllFormed() const;
};

Assembly BeginAssembly(Assemble message, absl::Time now, absl::Duration limit);

// 16 bytes that only the group's members learn. A function of the 128-bit secret and the group.
std::string TokenOf(const std::array<uint64_t, 2>& secret, GroupId group);

Mesh MeshOf(const Assembly& assembly, const std::array<uint64_t, 2>& secret);

// The hash that every member must have: the committed state's, or, before the first commit, that of
// the member who made the initial state (once it has formed).
std::optional<uint64_t> ExpectedHash(const Assembly& assembly);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_ASSEMBLY_H_
