#include "server/edge/record_seal.h"

#include <cstdint>

#include "absl/status/status.h"
#include "common/mix64.h"

namespace rondo::server {
namespace {

constexpr size_t kSealBytes = 8;

std::string SealOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  hash = Mix64(hash);
  std::string seal;
  for (size_t i = 0; i < kSealBytes; ++i) seal.push_back(static_cast<char>(hash >> (8 * i)));
  return seal;
}

}  // namespace

std::string Seal(std::string bytes) {
  bytes += SealOf(bytes);
  return bytes;
}

absl::StatusOr<std::string_view> Unseal(std::string_view sealed) {
  if (sealed.size() < kSealBytes) return absl::DataLossError("a record is cut off");
  const std::string_view bytes = sealed.substr(0, sealed.size() - kSealBytes);
  if (sealed.substr(bytes.size()) == SealOf(bytes)) return bytes;
  return absl::DataLossError("a record does not have the checksum that it was written with");
}

}  // namespace rondo::server
