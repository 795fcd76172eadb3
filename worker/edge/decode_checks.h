// The checks that all parsers of coordinator messages share.
#ifndef RONDO_WORKER_EDGE_DECODE_CHECKS_H_
#define RONDO_WORKER_EDGE_DECODE_CHECKS_H_

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace rondo::worker {

// All InvalidArgument; `field` is "Message.field".
inline absl::Status MissingField(std::string_view field) {
  return absl::InvalidArgumentError(fmt::format("{} is missing", field));
}
inline absl::Status UnknownValue(std::string_view field, int value) {
  return absl::InvalidArgumentError(
      fmt::format("{} has the value {}, which this version does not know", field, value));
}
inline absl::Status NeedNumber(std::string_view field, uint64_t value) {
  return value != 0 ? absl::OkStatus() : MissingField(field);
}
inline absl::Status NeedPositive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is {}, it must be above 0", field, value));
}

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_DECODE_CHECKS_H_
