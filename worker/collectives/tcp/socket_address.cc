#include "worker/collectives/tcp/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

constexpr std::string_view kPrefix = "rondo-tcp/1";
constexpr size_t kAddressesMax = 16;
constexpr size_t kBlobBytesMax = 4096;

const sockaddr_in* V4(const sockaddr_storage& s) {
  return reinterpret_cast<const sockaddr_in*>(&s);
}
const sockaddr_in6* V6(const sockaddr_storage& s) {
  return reinterpret_cast<const sockaddr_in6*>(&s);
}

absl::StatusOr<SocketAddress> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  const absl::Status bad = absl::InvalidArgumentError(
      fmt::format("'{}' is not an address with a port, such as 10.0.0.1:4000", text));
  if (colon == std::string_view::npos) return bad;
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  uint32_t port = 0;
  const std::string_view digits = text.substr(colon + 1);
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &port) || port == 0 ||
      port > 65535) {
    return bad;
  }
  return SocketAddress::Parse(host, static_cast<uint16_t>(port));
}

}  // namespace

absl::StatusOr<SocketAddress> SocketAddress::FromSystem(const sockaddr* address, socklen_t length) {
  if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
      length > sizeof(sockaddr_storage)) {
    return absl::InvalidArgumentError(
        fmt::format("address family {} is neither IPv4 nor IPv6", address->sa_family));
  }
  SocketAddress result;
  std::memcpy(&result.storage_, address, length);
  result.length_ = length;
  return result;
}

absl::StatusOr<SocketAddress> SocketAddress::Parse(std::string_view host, uint16_t port) {
  const std::string text(host);
  sockaddr_in v4 = {};
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return FromSystem(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  }
  sockaddr_in6 v6 = {};
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return FromSystem(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
  }
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not a numeric address; give IPv4 (10.0.0.1) or IPv6 (fd00::1)", host));
}

bool SocketAddress::IsLoopback() const {
  if (family() == AF_INET) return (ntohl(V4(storage_)->sin_addr.s_addr) >> 24) == 127;
  return IN6_IS_ADDR_LOOPBACK(&V6(storage_)->sin6_addr);
}

bool SocketAddress::IsLinkLocal() const {
  if (family() == AF_INET) return (ntohl(V4(storage_)->sin_addr.s_addr) >> 16) == 0xa9fe;
  return IN6_IS_ADDR_LINKLOCAL(&V6(storage_)->sin6_addr);
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? V4(storage_)->sin_port : V6(storage_)->sin6_port);
}

SocketAddress SocketAddress::WithPort(uint16_t port) const {
  SocketAddress copy = *this;
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&copy.storage_)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&copy.storage_)->sin6_port = htons(port);
  }
  return copy;
}

std::string SocketAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    inet_ntop(AF_INET, &V4(storage_)->sin_addr, text, sizeof(text));
    return fmt::format("{}:{}", text, port());
  }
  inet_ntop(AF_INET6, &V6(storage_)->sin6_addr, text, sizeof(text));
  return fmt::format("[{}]:{}", text, port());
}

std::string EncodeEndpoint(const std::vector<SocketAddress>& addresses) {
  std::string blob(kPrefix);
  for (size_t i = 0; i < std::min(addresses.size(), kAddressesMax); ++i) {
    blob += " " + addresses[i].ToString();
  }
  return blob;
}

absl::StatusOr<std::vector<SocketAddress>> DecodeEndpoint(std::string_view blob) {
  if (blob.size() > kBlobBytesMax) {
    return absl::InvalidArgumentError(
        fmt::format("endpoint of {} bytes; at most {}", blob.size(), kBlobBytesMax));
  }
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(blob.data(), blob.size()), ' ');
  if (words[0] != kPrefix) {
    return absl::InvalidArgumentError(
        fmt::format("endpoint is not of the tcp backend: it does not begin with '{}'", kPrefix));
  }
  if (words.size() < 2 || words.size() > 1 + kAddressesMax) {
    return absl::InvalidArgumentError(fmt::format("endpoint has {} addresses; 1 to {} are allowed",
                                                  words.size() - 1, kAddressesMax));
  }
  std::vector<SocketAddress> addresses;
  for (size_t i = 1; i < words.size(); ++i) {
    ASSIGN_OR_RETURN(const SocketAddress address, ParseHostPort(words[i]));
    addresses.push_back(address);
  }
  return addresses;
}

absl::StatusOr<std::vector<SocketAddress>> ResolveHost(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::UnavailableError(
        fmt::format("host name '{}' is not known here: {}", host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const auto address = SocketAddress::FromSystem(info->ai_addr, info->ai_addrlen);
    if (address.ok()) addresses.push_back(address->WithPort(port));
  }
  if (addresses.empty()) {
    return absl::UnavailableError(
        fmt::format("host name '{}' has neither an IPv4 nor an IPv6 address", host));
  }
  return addresses;
}

absl::StatusOr<std::vector<SocketAddress>> InterfaceAddresses(uint16_t port) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return absl::UnavailableError(
        fmt::format("this machine's addresses cannot be listed: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<SocketAddress> loopback;
  std::vector<SocketAddress> others;
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || (item->ifa_flags & IFF_UP) == 0) continue;
    const int family = item->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto address = SocketAddress::FromSystem(
        item->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!address.ok() || address->IsLinkLocal()) continue;
    (address->IsLoopback() ? loopback : others).push_back(address->WithPort(port));
  }
  return others.empty() ? loopback : others;
}

}  // namespace rondo
