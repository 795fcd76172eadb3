// How long a job stands still when a process is killed: real processes on this machine, all limits
// at their defaults (but no cool-down for names that come and die). Each kill is followed by a new
// process under the same name; the next kill comes once that is a member again. JSON lines, one for
// each place where a kill can hit, milliseconds:
//
//   commit_ms   from the kill to the next commit
//   notice_ms   reduce: until every survivor has left the broken collective (it reported a failure,
//               or was told to leave)
//   serving_ms  coordinator: from its start to the next commit
//
// Places: `training` (in the steps of an order), `reduce` (inside the all-reduce, which waits for
// one other member), `coordinator`. Victims take turns over all ranks, the first included. Messages
// pass a relay, which finds the moments and takes the times; it adds a hop of loopback to each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/training.pb.h"
#include "tests/bench/as_test.h"
#include "tests/chaos/crew.h"
#include "tests/chaos/relay.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::chaos {
namespace {

using nlohmann::ordered_json;

struct Flags {
  int workers = 4;
  int kills = 100;
  int steps = 16;
  std::string layers = "[64, 512, 256, 10]";
  std::vector<std::string> places = {"training", "reduce", "coordinator"};
};

// Longer than the second after which a worker takes its stream for one that works.
constexpr absl::Duration kStreamWorks = absl::Milliseconds(1500);

struct Times {
  std::vector<double> commit_ms;
  std::vector<double> notice_ms;
  std::vector<double> serving_ms;
};

[[noreturn]] void Die(const std::string& what, const Crew& crew) {
  fmt::print(stderr, "recovery_bench: {}\n{}", what, crew.Chronicle());
  std::exit(1);
}

double MillisSince(absl::Time since, absl::Time at) {
  return absl::ToDoubleMilliseconds(at - since);
}

void Await(Trap& trap, const char* what, const Crew& crew) {
  if (trap.Wait(kPatience)) return;
  Die(fmt::format("no {} within {}", what, absl::FormatDuration(kPatience)), crew);
}

bool IsFrom(const Passing& p, int worker) {
  return p.from_worker != nullptr && p.worker == WorkerName(worker);
}
bool IsTo(const Passing& p, int worker) {
  return p.to_worker != nullptr && p.worker == WorkerName(worker);
}

Trap& NextCommit(Crew* crew) {
  return crew->relay().Watch(
      [](const Passing& p) { return p.to_worker != nullptr && p.to_worker->has_commit(); });
}

// The worker has left the collective, by itself or because it was told to.
Trap& OutOfCollective(Crew* crew, int worker) {
  return crew->relay().Watch([worker](const Passing& p) {
    return (IsFrom(p, worker) && p.from_worker->has_failed()) ||
           (IsTo(p, worker) && p.to_worker->has_abort());
  });
}

// A new process takes the victim's place and is a member of a committed round.
void Replace(Crew* crew, int victim) {
  Trap& member = crew->relay().Watch(
      [victim](const Passing& p) { return IsTo(p, victim) && p.to_worker->has_commit(); });
  crew->StartWorker(victim);
  Await(member, "commit with the new process", *crew);
}

void KillInTraining(Crew* crew, int victim, Times* times) {
  Trap& ordered = crew->relay().Watch(
      [victim](const Passing& p) { return IsTo(p, victim) && p.to_worker->has_order(); });
  Await(ordered, "order", *crew);
  Trap& commit = NextCommit(crew);
  const absl::Time killed = absl::Now();
  crew->KillWorker(victim);
  Await(commit, "commit after a kill in training", *crew);
  times->commit_ms.push_back(MillisSince(killed, commit.sprung_at()));
}

void KillInReduce(Crew* crew, int victim, Times* times) {
  const int late = (victim + 1) % crew->size();
  Trap& unheard = crew->relay().Hold(
      [late](const Passing& p) { return IsTo(p, late) && p.to_worker->has_reduce(); });
  Await(unheard, "reduce", *crew);
  Trap& inside = crew->relay().Watch([victim](const Passing& p) {
    return IsFrom(p, victim) && p.from_worker->has_progress() &&
           p.from_worker->progress().activity() == v1::ACTIVITY_REDUCING;
  });
  Await(inside, "heartbeat from the reduce", *crew);
  std::vector<Trap*> survivors;
  for (int i = 0; i < crew->size(); ++i) {
    if (i != victim) survivors.push_back(&OutOfCollective(crew, i));
  }
  Trap& commit = NextCommit(crew);
  const absl::Time killed = absl::Now();
  crew->KillWorker(victim);
  unheard.Release();
  Await(commit, "commit after a kill in the reduce", *crew);
  absl::Time last = killed;
  for (Trap* out : survivors) {
    Await(*out, "report of a survivor", *crew);
    last = std::max(last, out->sprung_at());
  }
  times->notice_ms.push_back(MillisSince(killed, last));
  times->commit_ms.push_back(MillisSince(killed, commit.sprung_at()));
}

// The coordinator is killed once every stream to it has worked for a while: workers that lose
// stream after stream pause longer and longer before they dial again.
void KillCoordinator(Crew* crew, Times* times) {
  const absl::Time rested = absl::Now() + kStreamWorks;
  do {
    Await(NextCommit(crew), "commit before a kill of the coordinator", *crew);
  } while (absl::Now() < rested);
  const absl::Time killed = absl::Now();
  crew->KillCoordinator();
  Trap& commit = NextCommit(crew);
  if (!crew->StartCoordinator()) Die("the coordinator does not start again", *crew);
  const absl::Time serving = absl::Now();
  Await(commit, "commit after a kill of the coordinator", *crew);
  times->commit_ms.push_back(MillisSince(killed, commit.sprung_at()));
  times->serving_ms.push_back(MillisSince(serving, commit.sprung_at()));
}

Times Measure(const Flags& flags, const std::string& place) {
  e2e::DigitsJob job;
  job.model = fmt::format("{{builtin: mlp, layers: {}}}", flags.layers);
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.001}";
  job.sync = fmt::format("{{policy: constant, base_steps: {}}}", flags.steps);
  job.workers =
      fmt::format("{{min: 1, max: {}, wait_seconds: 600, cool_down_seconds: 0}}", flags.workers);
  Crew crew(e2e::MakeJobFolder(job), flags.workers);
  Times times;
  Trap& first = NextCommit(&crew);
  if (!crew.StartAll()) Die("the coordinator does not start", crew);
  Await(first, "first commit", crew);
  for (int i = 0; i < flags.kills; ++i) {
    const int victim = i % flags.workers;
    if (place == "coordinator") {
      KillCoordinator(&crew, &times);
      continue;
    }
    if (place == "training") KillInTraining(&crew, victim, &times);
    if (place == "reduce") KillInReduce(&crew, victim, &times);
    Replace(&crew, victim);
  }
  return times;
}

void AddQuantiles(const char* name, std::vector<double> values, ordered_json* line) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) {
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
  };
  (*line)[fmt::format("{}_p50", name)] = at(0.5);
  (*line)[fmt::format("{}_p99", name)] = at(0.99);
  (*line)[fmt::format("{}_max", name)] = at(1);
}

int Run(const Flags& flags) {
  for (const std::string& place : flags.places) {
    const Times times = Measure(flags, place);
    ordered_json line = {{"bench", "recovery"},        {"place", place},
                         {"workers", flags.workers},   {"kills", flags.kills},
                         {"round_steps", flags.steps}, {"layers", flags.layers}};
    AddQuantiles("commit_ms", times.commit_ms, &line);
    AddQuantiles("notice_ms", times.notice_ms, &line);
    AddQuantiles("serving_ms", times.serving_ms, &line);
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rondo::chaos

int main(int argc, char** argv) {
  rondo::chaos::Flags flags;
  CLI::App app("From the kill of a process to the next commit.", "recovery_bench");
  app.add_option("--workers", flags.workers)->check(CLI::Range(2, 64))->capture_default_str();
  app.add_option("--kills", flags.kills, "at each place")->capture_default_str();
  app.add_option("--steps", flags.steps, "of a round")->capture_default_str();
  app.add_option("--layers", flags.layers, "of the MLP, from 64 to 10")->capture_default_str();
  app.add_option("--places", flags.places, "training, reduce, coordinator")
      ->check(CLI::IsMember({"training", "reduce", "coordinator"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const rondo::AsTest as_test;
  return rondo::chaos::Run(flags);
}
