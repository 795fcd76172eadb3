// For tests of JobMachine: a job in the middle of its first round.
#ifndef RONDO_SERVER_CORE_SCRIPTED_ROUND_H_
#define RONDO_SERVER_CORE_SCRIPTED_ROUND_H_

#include "server/core/scripted_workers.h"

namespace rondo::server {

// Workers a and b in their first round; a has not said that it is ready.
struct MidRound {
  explicit MidRound(uint64_t min = 1, uint64_t max = 2, bool parallel = false)
      : script(Job(min, max, parallel)) {
    a = &script.Join("a");
    b = &script.Join("b");
    a->mute_ready = true;
    script.Run();
  }
  static MachineConfig Job(uint64_t min, uint64_t max, bool parallel) {
    MachineConfig config = SmallJob(min, max);
    if (parallel) config.policy = {.policy = SyncPolicy::kParallel, .round_steps = 5};
    return config;
  }
  Ready ReadyOfA() const {
    Ready ready{a->order->group, a->order->round, a->order->length, 0, 4, true, 1, {}};
    return ready;
  }

  Script script;
  ScriptedWorker* a;
  ScriptedWorker* b;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_SCRIPTED_ROUND_H_
