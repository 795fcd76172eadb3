#include "server/core/assembly.h"

#include <algorithm>

#include "common/mix64.h"

namespace rondo::server {
namespace {

void AppendBytes(uint64_t word, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(word >> shift));
}

}  // namespace

std::optional<uint32_t> Group::RankOf(const std::string& name, Incarnation incarnation) const {
  for (size_t rank = 0; rank < members.size(); ++rank) {
    if (members[rank].name == name && members[rank].incarnation == incarnation) {
      return static_cast<uint32_t>(rank);
    }
  }
  return std::nullopt;
}

bool SameMembers(const std::vector<Member>& a, const std::vector<Member>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Member& x, const Member& y) {
    return x.name == y.name && x.incarnation == y.incarnation;
  });
}

bool Assembly::AllEndpoints() const {
  return std::all_of(blobs.begin(), blobs.end(), [](const auto& b) { return b.has_value(); });
}

bool Assembly::AllFormed() const {
  return std::all_of(formed.begin(), formed.end(), [](const auto& f) { return f.has_value(); });
}

Assembly BeginAssembly(Assemble message, absl::Time now, absl::Duration limit) {
  Assembly assembly;
  assembly.group = {message.group, message.members};
  assembly.blobs.resize(message.members.size());
  assembly.formed.resize(message.members.size());
  assembly.stand_at.resize(message.members.size());
  assembly.residuals.resize(message.members.size());
  assembly.began = now;
  assembly.deadline = now + limit;
  message.limit_seconds = absl::ToDoubleSeconds(limit);
  assembly.message = std::move(message);
  return assembly;
}

std::string TokenOf(const std::array<uint64_t, 2>& secret, GroupId group) {
  std::string token;
  const uint64_t salt = Mix64(group.value + kSplitMix64Gamma);
  AppendBytes(Mix64(secret[0] + salt), token);
  AppendBytes(Mix64(secret[1] + Mix64(salt)), token);
  return token;
}

Mesh MeshOf(const Assembly& assembly, const std::array<uint64_t, 2>& secret) {
  Mesh mesh;
  mesh.group = assembly.group.id;
  for (const auto& blob : assembly.blobs) mesh.blobs.push_back(blob.value_or(""));
  mesh.token = TokenOf(secret, assembly.group.id);
  return mesh;
}

std::optional<uint64_t> ExpectedHash(const Assembly& assembly) {
  if (assembly.message.round) return assembly.message.state_hash;
  return assembly.formed[assembly.message.giver];
}

}  // namespace rondo::server
