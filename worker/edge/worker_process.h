// A whole worker: data plane, trainer, session, heartbeat, signals.
#ifndef RONDO_WORKER_EDGE_WORKER_PROCESS_H_
#define RONDO_WORKER_EDGE_WORKER_PROCESS_H_

#include "worker/edge/flags.h"

namespace rondo::worker {

// Works until the machine says Exit; the exit code (worker/README.md), 2 when the data plane cannot
// listen as the flags say. Takes over SIGTERM and SIGINT: call from the main thread before any
// other thread exists, and end the process after it, without running destructors of what may still
// be busy.
int RunWorker(const Flags& flags);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_WORKER_PROCESS_H_
