// Checks of a message's fields that name the first one that is wrong.
#ifndef RONDO_SERVER_EDGE_FIELD_CHECKS_H_
#define RONDO_SERVER_EDGE_FIELD_CHECKS_H_

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace rondo::server {

inline constexpr size_t kTextMax = 65536;          // Bytes of a text.
inline constexpr uint64_t kCountMax = 1ull << 62;  // Of anything that is counted.

// Each call returns the value as given; the first wrong one is kept in `status`.
class FieldChecks {
 public:
  explicit FieldChecks(std::string_view message) : message_(message) {}

  void Fail(std::string_view field, std::string_view why) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(fmt::format("{}.{}: {}", message_, field, why));
    }
  }
  void Require(bool good, std::string_view field, std::string_view why) {
    if (!good) Fail(field, why);
  }
  uint64_t Count(std::string_view field, uint64_t value) {
    Require(value <= kCountMax, field, "is beyond 2^62");
    return value;
  }
  uint64_t Number(std::string_view field, uint64_t value) {  // Required, 0 means missing.
    Require(value != 0, field, "is missing or 0");
    return value;
  }
  std::string Text(std::string_view field, const std::string& value) {
    Require(value.size() <= kTextMax, field, "is longer than 64 KiB");
    return value;
  }
  std::string RequiredText(std::string_view field, const std::string& value) {
    Require(!value.empty(), field, "is missing");
    return Text(field, value);
  }
  double Finite(std::string_view field, double value) {
    Require(std::isfinite(value), field, "is not finite");
    return value;
  }
  double Seconds(std::string_view field, double value) {
    Require(std::isfinite(value) && value >= 0, field, "must be finite and at least 0");
    return value;
  }
  double Norm(std::string_view field, double value) {
    Require(std::isfinite(value) && value >= 0, field, "must be finite and at least 0");
    return value;
  }
  // A measurement that may be anything once the worker says that it is not finite.
  double Measured(std::string_view field, double value, bool finite) {
    if (std::isfinite(value)) return value;
    Require(!finite, field, "is not finite, but the message says that the worker is");
    return 0;
  }
  // `known` is empty if the wire's value has no meaning here.
  template <typename T>
  T Enum(std::string_view field, int value, std::optional<T> known) {
    if (!known) Fail(field, fmt::format("has the unknown value {}", value));
    return known.value_or(T{});
  }

  const absl::Status& status() const { return status_; }

 private:
  const std::string_view message_;
  absl::Status status_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_FIELD_CHECKS_H_
