#include "server/cli/whole_number.h"

#include <fmt/format.h>

#include "absl/strings/numbers.h"

namespace rondo::cli {

std::function<std::string(const std::string&)> WholeNumber(int64_t min, int64_t max) {
  return [min, max](const std::string& text) {
    int64_t number = 0;
    if (absl::SimpleAtoi(text, &number) && number >= min && number <= max) return std::string();
    const std::string limit = max == std::numeric_limits<int64_t>::max()
                                  ? fmt::format("from {} on", min)
                                  : fmt::format("from {} to {}", min, max);
    return fmt::format("'{}' is no whole number {}", text, limit);
  };
}

}  // namespace rondo::cli
