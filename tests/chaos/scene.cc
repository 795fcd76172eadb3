#include "tests/chaos/scene.h"

#include <fmt/format.h>

namespace rondo::chaos {
namespace {

constexpr Mode kModes[] = {Mode::kLocal, Mode::kParallel};
constexpr int kWorkers[] = {2, 3, 5};
constexpr int kTurns[] = {2, 3, 2, 5, 3};  // Five processes cost the most.

}  // namespace

const char* NameOf(Fault fault) {
  switch (fault) {
    case Fault::kKillWorker:
      return "KillWorker";
    case Fault::kFreezeShortly:
      return "FreezeShortly";
    case Fault::kFreezeForLong:
      return "FreezeForLong";
    case Fault::kCutShortly:
      return "CutShortly";
    case Fault::kCutForLong:
      return "CutForLong";
    case Fault::kCutPeers:
      return "CutPeers";
    case Fault::kTerminateWorker:
      return "TerminateWorker";
    case Fault::kKillCoordinator:
      return "KillCoordinator";
    case Fault::kKillAll:
      return "KillAll";
  }
  return "";
}

const char* NameOf(Moment moment) {
  switch (moment) {
    case Moment::kBeforeFirstOrder:
      return "BeforeFirstOrder";
    case Moment::kSteps:
      return "Steps";
    case Moment::kBarrier:
      return "Barrier";
    case Moment::kReduce:
      return "Reduce";
    case Moment::kCommit:
      return "Commit";
    case Moment::kTransfer:
      return "Transfer";
    case Moment::kEvaluation:
      return "Evaluation";
    case Moment::kSave:
      return "Save";
  }
  return "";
}

const char* NameOf(Mode mode) {
  switch (mode) {
    case Mode::kLocal:
      return "local";
    case Mode::kParallel:
      return "parallel";
  }
  return "";
}

std::string NameOf(const Scene& scene) {
  return fmt::format("{}_{}_{}_{}", NameOf(scene.fault), NameOf(scene.moment), NameOf(scene.mode),
                     scene.workers);
}

std::ostream& operator<<(std::ostream& out, const Scene& scene) { return out << NameOf(scene); }

std::vector<Scene> WholeMatrix() {
  std::vector<Scene> scenes;
  for (Fault fault : kFaults) {
    for (Moment moment : kMoments) {
      for (Mode mode : kModes) {
        for (int workers : kWorkers) scenes.push_back({fault, moment, mode, workers});
      }
    }
  }
  return scenes;
}

std::vector<Scene> EachPairOnce() {
  std::vector<Scene> scenes;
  int first = 0;
  for (Fault fault : kFaults) {
    int turn = first++;  // So that each moment meets every mode and P.
    for (Moment moment : kMoments) {
      scenes.push_back({fault, moment, kModes[turn % 2], kTurns[turn % 5]});
      ++turn;
    }
  }
  return scenes;
}

}  // namespace rondo::chaos
