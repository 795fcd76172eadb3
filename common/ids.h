// Numbers that must not be swapped, each a type of its own, and the rule for worker names.
#ifndef RONDO_COMMON_IDS_H_
#define RONDO_COMMON_IDS_H_

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string_view>

namespace rondo {

// A number of one kind. 0 means "none" for every kind; numbers of the journal start at 1 and only
// grow.
template <typename Tag>
struct Number {
  uint64_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr Number Next() const { return {value + 1}; }
  friend constexpr auto operator<=>(const Number&, const Number&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Number& n) { return out << n.value; }
  template <typename H>
  friend H AbslHashValue(H h, const Number& n) {
    return H::combine(std::move(h), n.value);
  }
};

using Term = Number<struct TermTag>;                // One life of the coordinator.
using GroupId = Number<struct GroupTag>;            // One membership.
using RoundId = Number<struct RoundTag>;            // One order, its steps, a commit.
using Incarnation = Number<struct IncarnationTag>;  // One life of a worker process; random.
using StreamId =
    Number<struct StreamTag>;  // One Attend stream in the coordinator; made by its edge.

// [A-Za-z0-9._-]{1,63}.
constexpr bool IsValidWorkerName(std::string_view name) {
  if (name.empty() || name.size() > 63) return false;
  for (char c : name) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '_' || c == '-';
    if (!ok) return false;
  }
  return true;
}

}  // namespace rondo

template <typename Tag>
struct fmt::formatter<rondo::Number<Tag>> : fmt::formatter<uint64_t> {
  template <typename Context>
  auto format(const rondo::Number<Tag>& n, Context& context) const {
    return fmt::formatter<uint64_t>::format(n.value, context);
  }
};

#endif  // RONDO_COMMON_IDS_H_
