#include "server/edge/numbered_folders.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace rondo::server {
namespace {

std::optional<uint64_t> NumberOf(const std::string& name, std::string_view prefix) {
  if (name.rfind(prefix, 0) != 0) return std::nullopt;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size();
  uint64_t number = 0;
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  if (*begin == '0' && end - begin > 1) return std::nullopt;  // Another name of the same number.
  return number;
}

}  // namespace

std::vector<uint64_t> NumbersIn(const std::string& folder, std::string_view prefix) {
  namespace fs = std::filesystem;
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto number = NumberOf(it->path().filename().string(), prefix)) {
      numbers.push_back(*number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace rondo::server
