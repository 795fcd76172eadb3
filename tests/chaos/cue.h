// Finds a moment of a job, and keeps the job there until the fault has been done.
#ifndef RONDO_TESTS_CHAOS_CUE_H_
#define RONDO_TESTS_CHAOS_CUE_H_

#include <functional>
#include <vector>

#include "tests/chaos/crew.h"
#include "tests/chaos/scene.h"

namespace rondo::chaos {

// The round in which moments of a round are looked for; checkpoint and evaluation come before it.
inline constexpr uint64_t kRoundOfFaults = 3;

struct Cue {
  int victim = 0;  // Whom the fault meets.
  // Blocks until the moment has come; false: it did not.
  std::function<bool()> reach;
  // What was held back to keep the moment goes on, or gets lost.
  std::vector<Trap*> held;
  // Behind these doors nothing moves.
  std::vector<TcpProxy*> closed;
};

// Before the processes are started.
Cue PrepareCue(const Scene& scene, Crew* crew);

void Release(const Cue& cue);
void Lose(const Cue& cue);

// A member other than `worker`.
int OtherThan(int worker);

// True when `worker` sent, or is to be sent, the message of this kind.
bool From(const Passing& passing, int worker, v1::WorkerMessage::BodyCase kind);
bool To(const Passing& passing, int worker, v1::CoordinatorMessage::BodyCase kind);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_CUE_H_
