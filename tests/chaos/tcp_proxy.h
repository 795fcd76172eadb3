// A TCP proxy that a test can cut or freeze: the network between two processes, without root.
#ifndef RONDO_TESTS_CHAOS_TCP_PROXY_H_
#define RONDO_TESTS_CHAOS_TCP_PROXY_H_

#include <cstdint>
#include <list>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace rondo::chaos {

// Listens on a free port of 127.0.0.1 and joins each connection to a new one to the target, byte
// for byte. Threads: any may call; one thread accepts, two serve each connection. A target that
// refuses looks like a connection that is closed at once.
class TcpProxy {
 public:
  TcpProxy();
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  // Where new connections go; until then they are closed at once.
  void SetTarget(uint16_t port);

  // Breaks every connection, and each new one at once, until Heal.
  void Cut();
  // Nothing moves any more, in either direction, but no connection breaks: until Heal.
  void Hold();
  void Heal();
  // Blocks until `bytes` more have passed towards the target; false once `limit` has gone by.
  bool AwaitBytes(uint64_t bytes, absl::Duration limit);

 private:
  enum class Weather { kFair, kHeld, kCut };
  // Two sockets and the threads that copy between them.
  struct Link;

  void AcceptAll();
  void Serve(Link* link);
  void Copy(Link* link, int from, int to);
  // False: the network is cut.
  bool AwaitFair();
  void BreakLinks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread acceptor_;

  absl::Mutex mutex_;
  uint16_t target_ ABSL_GUARDED_BY(mutex_) = 0;
  Weather weather_ ABSL_GUARDED_BY(mutex_) = Weather::kFair;
  uint64_t bytes_to_target_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<std::unique_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_TCP_PROXY_H_
