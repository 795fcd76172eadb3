#include "server/core/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo {

std::string Counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Listed(const std::vector<std::string>& names, size_t most) {
  const bool all = names.size() <= most;
  const size_t shown = std::min(names.size(), most);
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += all && i + 1 == shown ? " and " : ", ";
    text += names[i];
  }
  if (!all) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string InUtc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

}  // namespace rondo
