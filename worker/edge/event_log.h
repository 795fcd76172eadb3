// One log line for each thing that happens to a worker; none for a step or a round.
#ifndef RONDO_WORKER_EDGE_EVENT_LOG_H_
#define RONDO_WORKER_EDGE_EVENT_LOG_H_

#include "worker/core/actions.h"

namespace rondo::worker {

// Threads: any.
void LogWorkerEvent(const Event& event);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_EVENT_LOG_H_
