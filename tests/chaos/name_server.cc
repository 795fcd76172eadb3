#include "tests/chaos/name_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rondo::chaos {
namespace {

constexpr size_t kHeaderBytes = 12;

}  // namespace

NameServer::NameServer() {
  fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* system = reinterpret_cast<sockaddr*>(&address);
  if (fd_ < 0 || bind(fd_, system, length) != 0 || getsockname(fd_, system, &length) != 0) {
    std::perror("name server");
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

NameServer::~NameServer() {
  // An empty datagram to itself ends the thread.
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  sendto(fd_, "", 0, 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  thread_.join();
  close(fd_);
}

void NameServer::SetAddress(const std::array<uint8_t, 4>& address) {
  absl::MutexLock lock(&mutex_);
  address_ = address;
}

void NameServer::Serve() {
  while (true) {
    char bytes[512];
    sockaddr_in from = {};
    socklen_t length = sizeof(from);
    auto* sender = reinterpret_cast<sockaddr*>(&from);
    const ssize_t count = recvfrom(fd_, bytes, sizeof(bytes), 0, sender, &length);
    if (count <= 0) return;
    const std::string answer = Answer(std::string(bytes, static_cast<size_t>(count)));
    if (!answer.empty()) sendto(fd_, answer.data(), answer.size(), 0, sender, length);
  }
}

// RFC 1035, 4.1: a header, the question again, and for type A one record.
std::string NameServer::Answer(const std::string& question) {
  if (question.size() < kHeaderBytes) return "";
  const size_t name_end = question.find('\0', kHeaderBytes);
  if (name_end == std::string::npos || name_end + 5 > question.size()) return "";
  const std::string asked = question.substr(kHeaderBytes, name_end + 5 - kHeaderBytes);
  const bool is_a = asked[asked.size() - 4] == 0 && asked[asked.size() - 3] == 1;
  std::string answer = question.substr(0, 2);  // Its number.
  const char counts[] = {'\x81', '\x80', 0, 1, 0, static_cast<char>(is_a ? 1 : 0), 0, 0, 0, 0};
  answer.append(counts, sizeof(counts));
  answer += asked;
  if (!is_a) return answer;
  // The name is that of the question; class IN, kept for 0 seconds, four bytes.
  const char record[] = {'\xc0', kHeaderBytes, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4};
  answer.append(record, sizeof(record));
  absl::MutexLock lock(&mutex_);
  answer.append(address_.begin(), address_.end());
  return answer;
}

}  // namespace rondo::chaos
