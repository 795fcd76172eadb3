// What a member needs before its group can work, and what that does to what it has.
#ifndef RONDO_WORKER_CORE_STATE_NEED_H_
#define RONDO_WORKER_CORE_STATE_NEED_H_

#include "worker/core/messages.h"

namespace rondo::worker {

// Whoever needs these takes another state than its own: it cannot go on with its order, nor with
// its residual (rule 9; one that reads its own files finds its residual there, or none).
inline bool ReplacesState(StateNeed need) {
  switch (need) {
    case StateNeed::kInitial:
    case StateNeed::kAll:
    case StateNeed::kValues:
    case StateNeed::kFile:
    case StateNeed::kPartial:
      return true;
    case StateNeed::kHolds:
    case StateNeed::kStep:
    case StateNeed::kMoments:
      return false;
  }
  return true;
}

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_STATE_NEED_H_
