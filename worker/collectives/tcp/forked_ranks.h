// For tests: the ranks of a mesh as processes, one of which is killed or frozen in its work.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_FORKED_RANKS_H_
#define RONDO_WORKER_COLLECTIVES_TCP_FORKED_RANKS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "worker/collectives/communicator.h"

namespace rondo {

// Exit codes beside those of absl::StatusCode.
inline constexpr int kPipeFailed = 98;
inline constexpr int kCaseFailed = 99;  // What the case itself found wrong.

// One call of a rank in its process. It is made again and again until it returns something else
// than 0, the process's exit code; each success is told to the parent.
using RankCall = std::function<int()>;
// Makes it, in the rank's process, once the mesh is there.
using RankWork = std::function<RankCall(Communicator& group)>;

// Forks 4 ranks (this process has no other thread), waits until they are in their third call or so,
// and sends rank 2 `signal`. Returns the exit codes of the others, -1 for one that a signal ended.
std::vector<int> StrikeForkedRank(int signal, const RankWork& work);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_FORKED_RANKS_H_
