#include "tests/chaos/play.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/time/clock.h"
#include "tests/chaos/crew.h"
#include "tests/chaos/cue.h"
#include "tests/chaos/strike.h"
#include "tests/chaos/verdict.h"
#include "tests/e2e/digits_job.h"

namespace rondo::chaos {
namespace {

struct Job {
  e2e::DigitsJob text;
  uint64_t steps = 0;
};

// Rounds of four steps, an evaluation and a checkpoint after every second one. Where the fault is
// to hit the steps themselves its round is long enough that heartbeats see it move.
void SetRounds(const Scene& scene, Job* job) {
  const bool long_round = scene.moment == Moment::kSteps;
  if (scene.mode == Mode::kLocal) {
    const uint64_t length = long_round ? 3000 / scene.workers : 4;
    job->steps = 20 + length;
    job->text.sync =
        fmt::format("{{policy: table, table: [[0, 4], [8, {}], [{}, 4]]}}", length, 8 + length);
  } else {
    const uint64_t length = long_round ? 1200 / scene.workers : 4;
    job->steps = 6 * length;
    job->text.sync = fmt::format("{{policy: parallel, round_steps: {}}}", length);
  }
  job->text.schedule =
      fmt::format("{{kind: cosine, steps: {}, peak: {}, final: 1e-3, warmup_steps: 5}}", job->steps,
                  long_round ? 0.05 : 0.3);
}

Job JobOf(const Scene& scene) {
  Job job;
  SetRounds(scene, &job);
  job.text.batch = "{per_worker: 32}";
  // A round starts with all of them: who is gone is waited for, so that every job ends with P
  // (S15).
  const bool may_redial = scene.fault == Fault::kCutShortly;
  job.text.workers =
      fmt::format("{{min: {0}, max: {0}, return_seconds: {1}, rewind_after_seconds: 0.5}}",
                  scene.workers, may_redial ? 10 : 0.3);
  const bool for_long = scene.fault == Fault::kFreezeForLong || scene.fault == Fault::kCutForLong;
  job.text.more = fmt::format(
      "evaluate: {{every_steps: 8}}\n"
      "checkpoint: {{every_steps: 8}}\n"
      "limits: {{heartbeat_seconds: 0.05, silent_seconds: {}, lost_seconds: {}}}\n",
      for_long ? 1.0 : 5.0, for_long ? 1.5 : 10.0);
  return job;
}

// Nothing is lost, and the same processes, or what they have saved, go on.
bool KeepsEveryBit(const Scene& scene) {
  if (scene.moment == Moment::kTransfer) return false;  // Somebody joined.
  switch (scene.fault) {
    case Fault::kFreezeShortly:
    case Fault::kCutShortly:
    case Fault::kCutPeers:
    case Fault::kKillCoordinator:
    case Fault::kKillAll:
      return true;
    case Fault::kKillWorker:
    case Fault::kFreezeForLong:
    case Fault::kCutForLong:
    case Fault::kTerminateWorker:
      return false;
  }
  return false;
}

class Play {
 public:
  explicit Play(const Scene& scene)
      : scene_(scene), job_(JobOf(scene)), crew_(e2e::MakeJobFolder(job_.text), scene.workers) {}

  void RunUndisturbed() {
    if (!crew_.StartAll()) return Complain("the coordinator did not start");
    AwaitEnd();
  }

  void Run() {
    const Cue cue = PrepareCue(scene_, &crew_);
    if (!crew_.StartAll()) return Complain("the coordinator did not start");
    if (!cue.reach()) {
      Complain("the moment never came");
      return Release(cue);
    }
    if (std::string problem = Strike(scene_.fault, cue, &crew_); !problem.empty()) {
      return Complain(problem);
    }
    AwaitEnd();
  }

  // The final parameters as a file's bytes; empty: there are none.
  std::string Model() {
    const std::string path = crew_.state_dir() + "/chaos.safetensors";
    const e2e::Ended ended = e2e::RunToEnd(
        e2e::Rondo({"export", "--state", crew_.state_dir(), "--out", path}), "", kPatience);
    if (ended.exit_code != 0) Complain("rondo export: " + ended.err);
    return e2e::ReadFile(path);
  }

  // The last round's; infinite: there is none.
  double LastLoss() {
    const e2e::Ended ended = e2e::RunToEnd(
        e2e::Rondo({"rounds", "--state", crew_.state_dir(), "--json"}), "", kPatience);
    const std::vector<nlohmann::json> rounds = e2e::JsonLines(ended.out);
    if (rounds.empty()) return std::numeric_limits<double>::infinity();
    return rounds.back()["mean_loss"].get<double>();
  }

  void Complain(const std::string& problem) { problems_.push_back(problem); }
  const std::vector<std::string>& problems() const { return problems_; }
  std::string Chronicle() const { return crew_.Chronicle(); }

 private:
  void AwaitEnd() {
    const e2e::Ended coordinator = crew_.WaitForCoordinator();
    if (coordinator.timed_out) return Complain("the job did not end");
    if (coordinator.exit_code != 0) {
      Complain(fmt::format("the coordinator ended with {}", coordinator.exit_code));
    }
    for (int i = 0; i < crew_.size(); ++i) {  // S68: nobody stays.
      const e2e::Ended worker = crew_.WaitForWorker(i);
      if (worker.timed_out) Complain(WorkerName(i) + " did not end");
      if (!worker.timed_out && worker.exit_code != 0) {
        Complain(fmt::format("{} ended with {}", WorkerName(i), worker.exit_code));
      }
    }
    for (const std::string& problem :
         JudgeJournal(crew_.state_dir() + "/journal.db", crew_.overheard(), job_.steps)) {
      Complain(problem);
    }
  }

  const Scene scene_;
  const Job job_;
  Crew crew_;
  std::vector<std::string> problems_;
};

// What the same job comes to in peace.
struct Undisturbed {
  std::string model;
  double last_loss = 0;
};

const Undisturbed& UndisturbedOf(const Scene& scene) {
  static auto* all = new std::map<std::tuple<Mode, int, bool>, Undisturbed>;
  const auto [it, is_new] =
      all->try_emplace({scene.mode, scene.workers, scene.moment == Moment::kSteps});
  if (is_new) {
    Play play(scene);
    play.RunUndisturbed();
    if (play.problems().empty()) it->second = {play.Model(), play.LastLoss()};
  }
  return it->second;
}

// Who joins takes parameters, moments and step count, so training goes on where it was (S23). Both
// see other samples from then on, which changes the loss a little.
constexpr double kLossTolerance = 0.25;

void Compare(const Scene& scene, Play* play) {
  const Undisturbed& undisturbed = UndisturbedOf(scene);
  if (undisturbed.model.empty()) return play->Complain("the undisturbed run failed");
  if (KeepsEveryBit(scene)) {
    if (play->Model() != undisturbed.model) {
      play->Complain("the model is not that of the undisturbed run");
    }
    return;
  }
  const double loss = play->LastLoss();
  if (loss <= undisturbed.last_loss + kLossTolerance) return;
  play->Complain(fmt::format("the last round's loss is {}, that of the undisturbed run {}", loss,
                             undisturbed.last_loss));
}

}  // namespace

Review Perform(const Scene& scene) {
  const absl::Time began = absl::Now();
  Play play(scene);
  play.Run();
  if (play.problems().empty()) Compare(scene, &play);
  return {play.problems(), absl::ToDoubleSeconds(absl::Now() - began), play.Chronicle()};
}

}  // namespace rondo::chaos
