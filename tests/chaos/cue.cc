#include "tests/chaos/cue.h"

#include <signal.h>

#include <atomic>
#include <memory>
#include <string>

namespace rondo::chaos {
namespace {

using ToWorker = v1::CoordinatorMessage;
using FromWorker = v1::WorkerMessage;

bool Sprung(Trap& trap) { return trap.Wait(kPatience); }

Trap& LookForProgress(Crew* crew, int worker, std::function<bool(const v1::Progress&)> fits) {
  return crew->relay().Watch([worker, fits = std::move(fits)](const Passing& p) {
    return From(p, worker, FromWorker::kProgress) && fits(p.from_worker->progress());
  });
}

void BeforeFirstOrder(Crew* crew, Cue* cue) {
  Trap& assemble = crew->relay().Hold(
      [victim = cue->victim](const Passing& p) { return To(p, victim, ToWorker::kAssemble); });
  cue->held = {&assemble};
  cue->reach = [&assemble] { return Sprung(assemble); };
}

void InSteps(Crew* crew, Cue* cue) {
  auto first_step = std::make_shared<std::atomic<uint64_t>>(~uint64_t{0});
  crew->relay().Watch([first_step, victim = cue->victim](const Passing& p) {
    if (!To(p, victim, ToWorker::kOrder) || p.to_worker->order().round() != kRoundOfFaults) {
      return false;
    }
    *first_step = p.to_worker->order().first_step();
    return true;
  });
  Trap& moving = LookForProgress(crew, cue->victim, [first_step](const v1::Progress& progress) {
    return progress.round() == kRoundOfFaults && progress.step() > *first_step;
  });
  cue->reach = [&moving] { return Sprung(moving); };
}

void AtBarrier(Crew* crew, Cue* cue) {
  const auto ready_of = [](int worker) {
    return [worker](const Passing& p) {
      return From(p, worker, FromWorker::kReady) &&
             p.from_worker->ready().round() == kRoundOfFaults;
    };
  };
  Trap& ready = crew->relay().Watch(ready_of(cue->victim));
  Trap& late = crew->relay().Hold(ready_of(OtherThan(cue->victim)));
  cue->held = {&late};
  cue->reach = [&ready, &late] { return Sprung(ready) && Sprung(late); };
}

// Another member never hears of the reduce, so it cannot end.
void InReduce(Crew* crew, Cue* cue) {
  Trap& unheard = crew->relay().Hold([other = OtherThan(cue->victim)](const Passing& p) {
    return To(p, other, ToWorker::kReduce) && p.to_worker->reduce().round() == kRoundOfFaults;
  });
  Trap& reducing = LookForProgress(crew, cue->victim, [&unheard](const v1::Progress& progress) {
    return progress.activity() == v1::ACTIVITY_REDUCING && unheard.sprung();
  });
  cue->held = {&unheard};
  cue->reach = [&unheard, &reducing] { return Sprung(unheard) && Sprung(reducing); };
}

// The round's first collective begins and nothing of it arrives.
void InCollectiveOfStep(Crew* crew, Cue* cue) {
  Trap& order = crew->relay().Hold([victim = cue->victim](const Passing& p) {
    return To(p, victim, ToWorker::kOrder) && p.to_worker->order().round() == kRoundOfFaults;
  });
  Trap& stuck = LookForProgress(crew, cue->victim, [](const v1::Progress& progress) {
    return progress.round() == kRoundOfFaults && progress.activity() == v1::ACTIVITY_REDUCING;
  });
  for (int i = 0; i < crew->size(); ++i) cue->closed.push_back(&crew->door(i));
  cue->reach = [&order, &stuck, closed = cue->closed] {
    if (!Sprung(order)) return false;
    for (TcpProxy* door : closed) door->Hold();
    order.Release();
    return Sprung(stuck);
  };
}

// In the journal, and on its way: one member may have it.
void AtCommit(Crew* crew, const Scene& scene, Cue* cue) {
  const int informed = scene.workers > 2 ? OtherThan(cue->victim) : -1;
  Trap& commit = crew->relay().Hold([informed](const Passing& p) {
    return p.to_worker != nullptr && p.to_worker->has_commit() &&
           p.to_worker->commit().round() == kRoundOfFaults && p.worker != WorkerName(informed);
  });
  cue->held = {&commit};
  cue->reach = [&commit] { return Sprung(commit); };
}

// One member leaves and comes back as another process, which needs the state.
void AtTransfer(Crew* crew, const Scene& scene, Cue* cue) {
  const int joiner = scene.workers - 1;
  const int giver = 0;
  cue->victim = scene.workers > 3 ? giver : joiner;
  Trap& second_round = crew->relay().Watch([joiner](const Passing& p) {
    return To(p, joiner, ToWorker::kCommit) && p.to_worker->commit().round() == 2;
  });
  auto group = std::make_shared<std::atomic<uint64_t>>(0);
  crew->relay().Watch([group, joiner](const Passing& p) {
    if (!To(p, joiner, ToWorker::kAssemble)) return false;
    const v1::Assemble& assemble = p.to_worker->assemble();
    const bool join = assemble.purpose() == v1::PURPOSE_JOIN &&
                      assemble.members(joiner).need() == v1::STATE_NEED_ALL;
    if (join) *group = assemble.group();
    return join;
  });
  Trap& mesh = crew->relay().Hold([group](const Passing& p) {
    return To(p, giver, ToWorker::kMesh) && p.to_worker->mesh().group() == *group;
  });
  Trap& waits = LookForProgress(crew, joiner, [&mesh](const v1::Progress& progress) {
    return progress.activity() == v1::ACTIVITY_ASSEMBLING && mesh.sprung();
  });
  cue->held = {&mesh};
  cue->reach = [crew, joiner, &second_round, &mesh, &waits] {
    if (!Sprung(second_round)) return false;
    crew->SignalWorker(joiner, SIGTERM);
    if (crew->WaitForWorker(joiner).exit_code != 5) return false;
    crew->StartWorker(joiner);
    return Sprung(mesh) && Sprung(waits);
  };
}

void InEvaluation(Crew* crew, Cue* cue) {
  Trap& evaluate = crew->relay().Hold(
      [victim = cue->victim](const Passing& p) { return To(p, victim, ToWorker::kEvaluate); });
  cue->held = {&evaluate};
  cue->reach = [&evaluate] { return Sprung(evaluate); };
}

void InSave(Crew* crew, Cue* cue) {
  Trap& upload = crew->relay().Hold([victim = cue->victim](const Passing& p) {
    return p.upload != nullptr && p.worker == WorkerName(victim);
  });
  cue->held = {&upload};
  cue->reach = [&upload] { return Sprung(upload); };
}

}  // namespace

int OtherThan(int worker) { return worker == 0 ? 1 : 0; }

bool From(const Passing& passing, int worker, v1::WorkerMessage::BodyCase kind) {
  return passing.from_worker != nullptr && passing.from_worker->body_case() == kind &&
         passing.worker == WorkerName(worker);
}

bool To(const Passing& passing, int worker, v1::CoordinatorMessage::BodyCase kind) {
  return passing.to_worker != nullptr && passing.to_worker->body_case() == kind &&
         passing.worker == WorkerName(worker);
}

Cue PrepareCue(const Scene& scene, Crew* crew) {
  Cue cue;
  cue.victim = scene.workers == 3 ? 2 : 0;  // Any rank, the first one too (S08).
  switch (scene.moment) {
    case Moment::kBeforeFirstOrder:
      BeforeFirstOrder(crew, &cue);
      break;
    case Moment::kSteps:
      InSteps(crew, &cue);
      break;
    case Moment::kBarrier:
      AtBarrier(crew, &cue);
      break;
    case Moment::kReduce:
      if (scene.mode == Mode::kLocal) {
        InReduce(crew, &cue);
      } else {
        InCollectiveOfStep(crew, &cue);
      }
      break;
    case Moment::kCommit:
      AtCommit(crew, scene, &cue);
      break;
    case Moment::kTransfer:
      AtTransfer(crew, scene, &cue);
      break;
    case Moment::kEvaluation:
      InEvaluation(crew, &cue);
      break;
    case Moment::kSave:
      InSave(crew, &cue);
      break;
  }
  return cue;
}

void Release(const Cue& cue) {
  for (Trap* trap : cue.held) trap->Release();
  for (TcpProxy* door : cue.closed) door->Heal();
}

void Lose(const Cue& cue) {
  for (Trap* trap : cue.held) trap->Lose();
  for (TcpProxy* door : cue.closed) door->Heal();
}

}  // namespace rondo::chaos
