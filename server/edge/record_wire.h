// How values of records stand in their messages: enums, times, whole messages. For the record_codec
// files alone.
#ifndef RONDO_SERVER_EDGE_RECORD_WIRE_H_
#define RONDO_SERVER_EDGE_RECORD_WIRE_H_

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rondo::server {

// The core's enums have the wire's values in the same order, less UNSPECIFIED; each codec asserts
// it of those it uses.
template <typename Wire, typename Core>
Wire ToWire(Core value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

template <typename Core>
absl::StatusOr<Core> FromWire(int value, Core last, std::string_view what) {
  if (value >= 1 && value <= static_cast<int>(last) + 1) return static_cast<Core>(value - 1);
  return absl::DataLossError(fmt::format("{} {} is unknown", what, value));
}

inline int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
inline absl::Time FromMicros(int64_t micros) { return absl::FromUnixMicros(micros); }

template <typename Message>
absl::StatusOr<Message> Parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError(fmt::format("the bytes of a {} record are damaged", what));
}

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_RECORD_WIRE_H_
