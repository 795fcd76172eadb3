#include "server/edge/former_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "absl/status/statusor.h"

namespace rondo::server {
namespace {

bool CanBind(const addrinfo& address) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  // As gRPC does: connections of a dead process that linger do not count.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(fd, address.ai_addr, address.ai_addrlen) == 0;
  close(fd);
  return bound;
}

bool IsFree(const ListenAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), fmt::to_string(address.port).c_str(), &hints, &found) !=
      0) {
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (!CanBind(*each)) return false;
  }
  return true;
}

}  // namespace

std::optional<ListenAddress> ReadFormerAddress(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
  if (!address.ok() || address->port == 0) return std::nullopt;
  return *address;
}

ListenAddress ChooseAddress(const ListenAddress& wanted,
                            const std::optional<ListenAddress>& former) {
  const bool usable = wanted.port == 0 && former && former->host == wanted.host && IsFree(*former);
  return usable ? *former : wanted;
}

}  // namespace rondo::server
