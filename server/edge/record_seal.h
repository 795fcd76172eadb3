// The bytes of a record as the journal keeps them: with their checksum at the end, so that a record
// that was changed on the disk is found and not believed.
#ifndef RONDO_SERVER_EDGE_RECORD_SEAL_H_
#define RONDO_SERVER_EDGE_RECORD_SEAL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace rondo::server {

// Appends 8 bytes: Mix64 of the 64-bit FNV-1a hash, little-endian. Any single changed byte changes
// it.
std::string Seal(std::string bytes);

// The bytes without their checksum; they borrow `sealed`. Errors: DataLoss.
absl::StatusOr<std::string_view> Unseal(std::string_view sealed);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_RECORD_SEAL_H_
