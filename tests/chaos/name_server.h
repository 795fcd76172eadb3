// A DNS server that knows one name, and whose answer a test changes.
#ifndef RONDO_TESTS_CHAOS_NAME_SERVER_H_
#define RONDO_TESTS_CHAOS_NAME_SERVER_H_

#include <array>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace rondo::chaos {

// Listens on a free UDP port of 127.0.0.1. Every name has the same IPv4 address, for no longer than
// the question; there are no other records. Threads: any; one of its own answers.
class NameServer {
 public:
  NameServer();
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  uint16_t port() const { return port_; }
  void SetAddress(const std::array<uint8_t, 4>& address);

 private:
  void Serve();
  // Empty: the question is none.
  std::string Answer(const std::string& question);

  int fd_ = -1;
  uint16_t port_ = 0;
  absl::Mutex mutex_;
  std::array<uint8_t, 4> address_ ABSL_GUARDED_BY(mutex_) = {127, 0, 0, 1};
  std::thread thread_;
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_NAME_SERVER_H_
