// One run of rondo-coordinator, from its flags to its exit code.
#ifndef RONDO_SERVER_EDGE_COORDINATOR_PROCESS_H_
#define RONDO_SERVER_EDGE_COORDINATOR_PROCESS_H_

#include "server/edge/flags.h"

namespace rondo::server {

// Blocks until the job has ended. SIGTERM and SIGINT end it at the next border, a second one at
// once; the caller has blocked both in every thread. Errors go to standard error in words.
// Returns the exit code, one of those that the top README lists.
int RunCoordinator(const Flags& flags);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_COORDINATOR_PROCESS_H_
