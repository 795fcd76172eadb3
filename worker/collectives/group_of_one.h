// The communicator of a group with one member: every call works, sends nothing and blocks on
// nothing.
#ifndef RONDO_WORKER_COLLECTIVES_GROUP_OF_ONE_H_
#define RONDO_WORKER_COLLECTIVES_GROUP_OF_ONE_H_

#include <memory>

#include "worker/collectives/communicator.h"

namespace rondo {

// Host memory only. Send and Receive are refused (there is no peer); after that, or after Abort,
// every call returns FailedPrecondition, as with any broken group.
std::unique_ptr<Communicator> MakeGroupOfOne();

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_GROUP_OF_ONE_H_
