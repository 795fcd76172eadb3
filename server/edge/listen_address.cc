#include "server/edge/listen_address.h"

#include <fmt/format.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace rondo::server {
namespace {

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "::1") return true;
  if (!absl::StartsWith(host, "127.")) return false;
  // "127.evil.example" is a name, not an address.
  return host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

std::string ListenAddress::Text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(
      fmt::format("--listen {}: expected HOST:PORT with a port from 0 to 65535, such as "
                  "127.0.0.1:7000 or [::1]:0 (0: the system chooses)",
                  text));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong;
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return wrong;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong;
  }
  ListenAddress address;
  address.host = std::string(host);
  const std::string port(text.substr(colon + 1));
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port, &address.port) || address.port > 65535) {
    return wrong;
  }
  address.loopback = IsLoopback(address.host);
  return address;
}

}  // namespace rondo::server
