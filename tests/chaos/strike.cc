#include "tests/chaos/strike.h"

#include <fmt/format.h>
#include <signal.h>

#include <memory>

namespace rondo::chaos {
namespace {

// Short against the silent limit, long against everything that moves.
constexpr int kHeartbeats = 4;

// Another worker's heartbeats measure the time.
std::string AwaitHeartbeats(Crew* crew, int of_worker) {
  auto count = std::make_shared<int>(0);
  Trap& heartbeats = crew->relay().Watch([count, of_worker](const Passing& p) {
    return From(p, of_worker, v1::WorkerMessage::kProgress) && ++*count == kHeartbeats;
  });
  return heartbeats.Wait(kPatience) ? "" : "the other worker's heartbeats have ceased";
}

std::string AwaitLoss(Crew* crew, int worker) {
  const std::string line = fmt::format("worker_lost text=\"{}: ", WorkerName(worker));
  return crew->CoordinatorLogs(line) ? "" : WorkerName(worker) + " was not counted as lost";
}

std::string KillWorker(const Cue& cue, Crew* crew) {
  crew->KillWorker(cue.victim);
  Release(cue);
  crew->StartWorker(cue.victim);
  return "";
}

std::string Freeze(bool for_long, const Cue& cue, Crew* crew) {
  crew->SignalWorker(cue.victim, SIGSTOP);
  Release(cue);
  std::string problem =
      for_long ? AwaitLoss(crew, cue.victim) : AwaitHeartbeats(crew, OtherThan(cue.victim));
  crew->SignalWorker(cue.victim, SIGCONT);
  return problem;
}

std::string CutLine(bool for_long, const Cue& cue, Crew* crew) {
  TcpProxy& line = crew->line(cue.victim);
  line.Cut();
  Release(cue);
  std::string problem;
  if (for_long) problem = AwaitLoss(crew, cue.victim);
  line.Heal();
  return problem;
}

// All others dial the last one: behind its door are all of its connections.
std::string CutPeers(const Cue& cue, Crew* crew) {
  TcpProxy& door = crew->door(crew->size() - 1);
  door.Cut();
  for (Trap* trap : cue.held) trap->Release();
  std::string problem = AwaitHeartbeats(crew, 0);
  for (TcpProxy* closed : cue.closed) closed->Heal();
  door.Heal();
  return problem;
}

std::string Terminate(const Cue& cue, Crew* crew) {
  crew->SignalWorker(cue.victim, SIGTERM);
  Release(cue);
  const e2e::Ended left = crew->WaitForWorker(cue.victim);
  if (left.exit_code != 5) {
    return fmt::format("after SIGTERM {} ended with {}", WorkerName(cue.victim), left.exit_code);
  }
  crew->StartWorker(cue.victim);
  return "";
}

std::string Restart(bool workers_too, const Cue& cue, Crew* crew) {
  crew->KillCoordinator();
  for (int i = 0; workers_too && i < crew->size(); ++i) crew->KillWorker(i);
  Lose(cue);
  for (int i = 0; workers_too && i < crew->size(); ++i) crew->StartWorker(i);
  return crew->StartCoordinator() ? "" : "the new coordinator did not start";
}

}  // namespace

std::string Strike(Fault fault, const Cue& cue, Crew* crew) {
  switch (fault) {
    case Fault::kKillWorker:
      return KillWorker(cue, crew);
    case Fault::kFreezeShortly:
    case Fault::kFreezeForLong:
      return Freeze(fault == Fault::kFreezeForLong, cue, crew);
    case Fault::kCutShortly:
    case Fault::kCutForLong:
      return CutLine(fault == Fault::kCutForLong, cue, crew);
    case Fault::kCutPeers:
      return CutPeers(cue, crew);
    case Fault::kTerminateWorker:
      return Terminate(cue, crew);
    case Fault::kKillCoordinator:
    case Fault::kKillAll:
      return Restart(fault == Fault::kKillAll, cue, crew);
  }
  return "";
}

}  // namespace rondo::chaos
