#include "tests/chaos/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rondo::chaos {
namespace {

constexpr Mode kModes[] = {Mode::kLocal, Mode::kParallel};
constexpr int kWorkers[] = {2, 3, 5};
constexpr int kTurns[] = {2, 3, 2, 5, 3};  // Five processes cost the most.

// What the coordinator cannot do yet: to repair a step of a parallel round.
bool IsBuilt(const Scene& scene) {
  const bool within_round = scene.moment == Moment::kSteps || scene.moment == Moment::kBarrier ||
                            scene.moment == Moment::kReduce;
  switch (scene.fault) {
    case Fault::kKillWorker:
    case Fault::kCutPeers:
      return scene.mode == Mode::kLocal;
    case Fault::kFreezeForLong:
    case Fault::kCutForLong:
    case Fault::kKillAll:
      return scene.mode == Mode::kLocal || !within_round;
    case Fault::kFreezeShortly:
    case Fault::kCutShortly:
    case Fault::kTerminateWorker:
    case Fault::kKillCoordinator:
      return true;
  }
  return false;
}

std::vector<Scene> BuiltOnes(const std::vector<Scene>& scenes) {
  std::vector<Scene> built;
  std::copy_if(scenes.begin(), scenes.end(), std::back_inserter(built), IsBuilt);
  return built;
}

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
  return BuiltOnes(scenes);
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
  return BuiltOnes(scenes);
}

}  // namespace rondo::chaos
