// What can happen, when, to whom: the matrix of chaos runs.
#ifndef RONDO_TESTS_CHAOS_SCENE_H_
#define RONDO_TESTS_CHAOS_SCENE_H_

#include <ostream>
#include <string>
#include <vector>

namespace rondo::chaos {

enum class Fault {
  kKillWorker,       // kill -9; a new process comes under its name.
  kFreezeShortly,    // SIGSTOP, and SIGCONT before the silent limit.
  kFreezeForLong,    // SIGSTOP, and SIGCONT once it counts as lost.
  kCutShortly,       // Its connection to the coordinator breaks; it may dial at once.
  kCutForLong,       // The same, and nothing gets through until it counts as lost.
  kCutPeers,         // The connections between one worker and all others break.
  kTerminateWorker,  // SIGTERM; once it has left, a new process comes under its name.
  kKillCoordinator,  // kill -9, and a new one on its state. What it had sent last is lost.
  kKillAll,          // kill -9 of every process, and new ones.
};

enum class Moment {
  kBeforeFirstOrder,  // The first group is being assembled.
  kSteps,             // The worker is in the steps of an order.
  kBarrier,           // It is ready, others are not.
  kReduce,            // It is inside a collective, which cannot end.
  kCommit,            // The commit is in the journal, and not everybody has heard of it.
  kTransfer,          // The state is about to be handed to a joiner.
  kEvaluation,        // It has been asked to evaluate.
  kSave,              // It is handing in a file of a checkpoint.
};

enum class Mode { kLocal, kParallel };

inline constexpr Fault kFaults[] = {
    Fault::kKillWorker,      Fault::kFreezeShortly,   Fault::kFreezeForLong,
    Fault::kCutShortly,      Fault::kCutForLong,      Fault::kCutPeers,
    Fault::kTerminateWorker, Fault::kKillCoordinator, Fault::kKillAll};
inline constexpr Moment kMoments[] = {Moment::kBeforeFirstOrder, Moment::kSteps,  Moment::kBarrier,
                                      Moment::kReduce,           Moment::kCommit, Moment::kTransfer,
                                      Moment::kEvaluation,       Moment::kSave};

struct Scene {
  Fault fault = Fault::kKillWorker;
  Moment moment = Moment::kSteps;
  Mode mode = Mode::kLocal;
  int workers = 2;  // P
};

const char* NameOf(Fault fault);
const char* NameOf(Moment moment);
const char* NameOf(Mode mode);
// "KillWorker_Barrier_local_3".
std::string NameOf(const Scene& scene);
std::ostream& operator<<(std::ostream& out, const Scene& scene);

// Every fault at every moment, in both modes, for P = 2, 3, 5.
std::vector<Scene> WholeMatrix();
// Every fault at every moment once; modes and P take turns.
std::vector<Scene> EachPairOnce();

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_SCENE_H_
