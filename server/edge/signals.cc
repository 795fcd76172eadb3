#include "server/edge/signals.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace rondo::server {
namespace {

constexpr int kWakeSignal = SIGUSR1;  // Sent by the destructor alone.

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, kWakeSignal);
  return set;
}

}  // namespace

void BlockSignals() {
  const sigset_t set = Signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

SignalThread::SignalThread(std::function<void(const char* name, int count)> on_signal)
    : thread_([on_signal = std::move(on_signal)] {
        const sigset_t set = Signals();
        int count = 0;
        int signal = 0;
        while (sigwait(&set, &signal) == 0 && signal != kWakeSignal) {
          on_signal(signal == SIGTERM ? "SIGTERM" : "SIGINT", ++count);
        }
      }) {}

SignalThread::~SignalThread() {
  pthread_kill(thread_.native_handle(), kWakeSignal);
  thread_.join();
}

}  // namespace rondo::server
