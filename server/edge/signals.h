// SIGTERM and SIGINT as calls on a thread of their own.
#ifndef RONDO_SERVER_EDGE_SIGNALS_H_
#define RONDO_SERVER_EDGE_SIGNALS_H_

#include <functional>
#include <thread>

namespace rondo::server {

// Blocks SIGTERM, SIGINT and SIGUSR1 in the calling thread and in those that it starts later. Call
// first in main. SIGPIPE is ignored.
void BlockSignals();

// Ownership: one at a time in a process.
class SignalThread {
 public:
  // `on_signal` gets the signal's name and how many have come, from 1.
  explicit SignalThread(std::function<void(const char* name, int count)> on_signal);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_SIGNALS_H_
