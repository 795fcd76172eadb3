#include "worker/engine/torch/guarded.h"

#include <string>
#include <string_view>

namespace rondo {

std::string TellingLine(std::string_view message) {
  std::string_view first, telling;
  while (!message.empty()) {
    const size_t end = message.find('\n');
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(end == std::string_view::npos ? message.size() : end + 1);
    if (first.empty()) first = line;
    const size_t colon = line.find(": ");
    if (colon != std::string_view::npos && line.substr(0, colon).ends_with("Error") &&
        line.substr(0, colon).find(' ') == std::string_view::npos)
      telling = line;
  }
  return std::string(telling.empty() ? first : telling);
}

}  // namespace rondo
