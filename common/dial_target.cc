#include "common/dial_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace rondo {
namespace {

bool IsPort(std::string_view text) {
  if (text.empty() || text.size() > 5) return false;
  int port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    port = 10 * port + (c - '0');
  }
  return port >= 1 && port <= 65535;
}

}  // namespace

std::string WrongDialTarget(std::string_view target) {
  if (target.empty()) return "it is empty; expected HOST:PORT, for example 127.0.0.1:7000";
  if (target.substr(0, 5) == "unix:") return "";
  std::string_view rest = target;
  if (const size_t slash = rest.rfind('/'); slash != std::string_view::npos) {
    rest.remove_prefix(slash + 1);
  }
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (rest.substr(0, scheme.size()) == scheme) rest.remove_prefix(scheme.size());
  }
  const size_t bracket = rest.rfind(']');
  const size_t colon = rest.rfind(':');
  const bool many = std::count(rest.begin(), rest.end(), ':') > 1;
  if (many && bracket == std::string_view::npos) {
    return fmt::format("'{}' has several colons; an IPv6 address is written [ADDRESS]:PORT",
                       target);
  }
  const bool has_port = colon != std::string_view::npos &&
                        (bracket == std::string_view::npos || colon == bracket + 1);
  if (!has_port) {
    return fmt::format("'{}' has no port; expected HOST:PORT, for example {}:7000", target, rest);
  }
  if (colon == 0) return fmt::format("'{}' has no host; expected HOST:PORT", target);
  const std::string_view port = rest.substr(colon + 1);
  if (IsPort(port)) return "";
  return fmt::format("'{}' is no port: expected HOST:PORT with a port from 1 to 65535", port);
}

}  // namespace rondo
