#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "common/job/sections.h"

namespace rondo {
namespace {

constexpr int64_t kMembersByDefault = 16;
// A week: longer than any limit that still means something.
constexpr RealRange kSeconds = {.min = 0, .max = 604'800};
// A thousandth: nothing here is told apart in less, and a limit near zero is always over.
constexpr double kSecondsMin = 0.001;
constexpr RealRange kSomeSeconds = {.min = kSecondsMin, .max = 604'800};
constexpr double kDenseWins = 1.0 / 3;  // Above this share the dense ring sends less, or as much.
constexpr IntRange kSteps = {.min = 0, .max = kJobStepsMax};

// 0 says "not at all".
double SecondsOrNone(Section& section, const char* key, double fallback) {
  const double seconds = section.Real(key, kSeconds).value_or(fallback);
  if (seconds > 0 && seconds < kSecondsMin) {
    section.Fail(key, fmt::format("must be 0 or at least {}, not {}", kSecondsMin, seconds));
  }
  return seconds;
}

// A step's samples are shared among the members; nobody may come away empty.
void CheckShares(Section& section, std::optional<int64_t> given, const v1::Job& job) {
  if (job.batch().size_case() != v1::Batch::kGlobal) return;
  const char* key = job.workers().min() > job.batch().global() ? "min" : "max";
  const int64_t members = std::max(job.workers().min(), job.workers().max());
  if (members <= job.batch().global()) return;
  section.Fail(key,
               fmt::format("{}{} members cannot share the {} samples of batch.global: each needs "
                           "at least one a step",
                           given == members ? fmt::format("--workers {}: ", members) : "", members,
                           job.batch().global()));
}

// For names under which processes keep dying.
void ReadCoolDown(Section& section, v1::Workers* workers) {
  workers->set_cool_down_seconds(SecondsOrNone(section, "cool_down_seconds", 10));
  workers->set_cool_down_max_seconds(SecondsOrNone(section, "cool_down_max_seconds",
                                                   std::max(300.0, workers->cool_down_seconds())));
  workers->set_losses_free(section.Int("losses_free", {.min = 0, .max = 1'000'000}).value_or(2));
  workers->set_forgive_seconds(section.Real("forgive_seconds", kSomeSeconds).value_or(600));
  if (workers->cool_down_max_seconds() < workers->cool_down_seconds()) {
    section.Fail("cool_down_max_seconds",
                 fmt::format("must be at least cool_down_seconds, which is {}",
                             workers->cool_down_seconds()));
  }
}

// The density's way down to its value.
void ReadDensityWarmUp(Section& section, v1::Collective* collective) {
  const bool used = collective->kind() == v1::COLLECTIVE_KIND_SPARSE ||
                    collective->kind() == v1::COLLECTIVE_KIND_TOPK_GATHER;
  const std::string kind = collective->kind() == v1::COLLECTIVE_KIND_AUTO
                               ? "kind: auto, which compares at one density"
                               : "kind: ring";
  const auto steps = section.Int("warmup_steps", kSteps);
  const auto from = section.Real("warmup_density", {.min = 0, .above_min = true, .max = 1});
  collective->set_warmup_steps(ValueIfUsed<int64_t>(section, "warmup_steps", steps, 0, used, kind));
  collective->set_warmup_density(
      ValueIfUsed(section, "warmup_density", from, collective->density(), used, kind));
  if (!used) return;
  if (collective->warmup_steps() > 0 && !from) {
    section.Require("warmup_density",
                    "warmup_density: SHARE (the density of the first step, as 0.25)");
  } else if (collective->warmup_steps() == 0 && from) {
    section.Fail("warmup_density", "needs warmup_steps greater than 0");
  } else if (collective->warmup_density() < collective->density()) {
    section.Fail("warmup_density",
                 fmt::format("must be at least density, which is {}", collective->density()));
  }
}

}  // namespace

void ReadCollective(Section& root, ReadLog* log, v1::Collective* collective) {
  Section section(root.Map("collective"), "collective", log);
  const auto kind =
      section.Word<v1::CollectiveKind>("kind", {{"ring", v1::COLLECTIVE_KIND_RING},
                                                {"sparse", v1::COLLECTIVE_KIND_SPARSE},
                                                {"auto", v1::COLLECTIVE_KIND_AUTO},
                                                {"topk_gather", v1::COLLECTIVE_KIND_TOPK_GATHER}});
  // Of a kind that cannot be read nothing is known to be superfluous or missing: as sparse, but for
  // what may be missing.
  const bool unknown = !kind && section.Has("kind");
  collective->set_kind(unknown ? v1::COLLECTIVE_KIND_SPARSE
                               : kind.value_or(v1::COLLECTIVE_KIND_RING));
  const bool ring = collective->kind() == v1::COLLECTIVE_KIND_RING;
  const bool gather = collective->kind() == v1::COLLECTIVE_KIND_TOPK_GATHER;
  const auto density = section.Real("density", {.min = 0, .above_min = true, .max = 1});
  collective->set_density(ValueIfUsed(section, "density", density, 0.0, !ring, "kind: ring"));
  if (!ring && !unknown) section.Require("density", "density: SHARE (the selected share, as 0.01)");
  if (collective->density() > kDenseWins) {
    section.Warn("density",
                 "an entry is an index and a value, and travels twice: above about a third of the "
                 "elements kind: ring sends less");
  }
  const auto select = section.Word<v1::SelectMode>(
      "select", {{"exact", v1::SELECT_MODE_EXACT}, {"threshold", v1::SELECT_MODE_THRESHOLD}});
  if (select && (ring || gather)) {
    section.Fail("select", fmt::format("is not used by kind: {}: remove it",
                                       ring ? "ring" : "topk_gather, which is always exact"));
  } else if (!ring && !gather) {
    collective->set_select(select.value_or(v1::SELECT_MODE_EXACT));
  }
  ReadDensityWarmUp(section, collective);
  section.Finish();
}

void ReadState(Section& root, ReadLog* log, v1::Job* job) {
  Section section(root.Map("state"), "state", log);
  v1::State* state = job->mutable_state();
  state->set_optimizer(section
                           .Word<v1::OptimizerStatePolicy>(
                               "optimizer", {{"local", v1::OPTIMIZER_STATE_POLICY_LOCAL},
                                             {"average", v1::OPTIMIZER_STATE_POLICY_AVERAGE},
                                             {"reset", v1::OPTIMIZER_STATE_POLICY_RESET}})
                           .value_or(v1::OPTIMIZER_STATE_POLICY_LOCAL));
  state->set_buffers(
      section.Word<v1::BufferPolicy>("buffers", {{"average", v1::BUFFER_POLICY_AVERAGE}})
          .value_or(v1::BUFFER_POLICY_AVERAGE));
  if (state->optimizer() == v1::OPTIMIZER_STATE_POLICY_AVERAGE &&
      job->collective().kind() != v1::COLLECTIVE_KIND_RING) {
    section.Warn("optimizer",
                 "average sends the optimizer's moments whole at each sync of a local round, which "
                 "costs what a sparse collective saves; local and reset send none");
  }
  section.Finish();
}

void ReadWorkers(Section& root, ReadLog* log, std::optional<int64_t> given, v1::Job* job) {
  Section section(root.Map("workers"), "workers", log);
  v1::Workers* workers = job->mutable_workers();
  workers->set_min(section.Int("min", {.min = 1, .max = kJobWorkersMax}).value_or(1));
  const auto max = section.Int("max", {.min = 1, .max = kJobWorkersMax});
  int64_t by_default = kMembersByDefault;
  if (job->batch().size_case() == v1::Batch::kGlobal) {
    by_default = std::min(by_default, job->batch().global());
  }
  workers->set_max(max.value_or(std::max(workers->min(), by_default)));
  if (workers->max() < workers->min()) {
    section.Fail("max", fmt::format("must be at least min, which is {}", workers->min()));
  }
  if (given) {
    workers->set_min(std::min(workers->min(), *given));
    workers->set_max(std::max(workers->max(), *given));
  }
  CheckShares(section, given, *job);
  workers->set_wait_seconds(SecondsOrNone(section, "wait_seconds", 30));
  workers->set_return_seconds(SecondsOrNone(section, "return_seconds", 0.5));
  workers->set_give_up_seconds(SecondsOrNone(section, "give_up_seconds", 0));
  workers->set_rewind_after_seconds(
      section.Real("rewind_after_seconds", kSomeSeconds).value_or(300));
  ReadCoolDown(section, workers);
  section.Finish();
}

void ReadCheckpoint(Section& root, ReadLog* log, v1::Checkpoint* checkpoint) {
  Section section(root.Map("checkpoint"), "checkpoint", log);
  checkpoint->set_every_steps(section.Int("every_steps", kSteps).value_or(0));
  checkpoint->set_keep(section.Int("keep", {.min = 1, .max = 1'000'000}).value_or(3));
  checkpoint->set_shared_dir(section.Text("shared_dir").value_or(""));
  checkpoint->set_partials(section.Bool("partials").value_or(false));
  if (checkpoint->partials() && checkpoint->every_steps() == 0) {
    section.Fail("partials", "needs every_steps: a round is long when it has more steps than that");
  }
  if (checkpoint->keep() == 1 && checkpoint->every_steps() > 0) {
    section.Warn("keep",
                 "damage to one file of a single checkpoint would leave the job nothing to go back "
                 "to; 2 or more are safer");
  }
  section.Finish();
}

void ReadEvaluate(Section& root, ReadLog* log, v1::Job* job) {
  Section section(root.Map("evaluate"), "evaluate", log);
  const auto epochs = section.Int("every_epochs", kSteps);
  const auto steps = section.Int("every_steps", kSteps);
  if (epochs.value_or(0) > 0 && steps.value_or(0) > 0) {
    section.Fail("every_steps", "evaluation is due by epochs or by steps: keep one of the two");
  }
  job->mutable_evaluate()->set_every_epochs(epochs.value_or(0));
  job->mutable_evaluate()->set_every_steps(steps.value_or(0));
  if (!job->data().has_test()) {
    for (const char* key : {"every_epochs", "every_steps"}) {
      if (section.Has(key)) section.Fail(key, "needs data.test to evaluate on");
    }
  }
  section.Finish();
}

void ReadLimits(Section& root, ReadLog* log, v1::Limits* limits) {
  Section section(root.Map("limits"), "limits", log);
  const auto seconds = [&](const char* key, double fallback) {
    return section.Real(key, kSomeSeconds).value_or(fallback);
  };
  limits->set_heartbeat_seconds(seconds("heartbeat_seconds", 1));
  limits->set_silent_seconds(seconds("silent_seconds", 5));
  limits->set_lost_seconds(seconds("lost_seconds", 10));
  limits->set_assemble_seconds(seconds("assemble_seconds", 60));
  limits->set_collective_seconds(seconds("collective_seconds", 30));
  limits->set_abort_seconds(seconds("abort_seconds", 10));
  limits->set_stall_seconds(seconds("stall_seconds", 60));
  limits->set_coordinator_away_seconds(SecondsOrNone(section, "coordinator_away_seconds", 600));
  limits->set_attempts(section.Int("attempts", {.min = 1, .max = 1000}).value_or(5));
  limits->set_report_seconds(seconds("report_seconds", 1));
  limits->set_evaluate_seconds(seconds("evaluate_seconds", 3600));
  limits->set_save_seconds(seconds("save_seconds", 600));
  limits->set_not_finite_rounds(
      section.Int("not_finite_rounds", {.min = 1, .max = 1'000'000}).value_or(3));
  if (limits->silent_seconds() <= limits->heartbeat_seconds()) {
    section.Fail("silent_seconds",
                 fmt::format("must be greater than heartbeat_seconds, which is {}",
                             limits->heartbeat_seconds()));
  }
  if (limits->lost_seconds() < limits->silent_seconds()) {
    section.Fail("lost_seconds", fmt::format("must be at least silent_seconds, which is {}",
                                             limits->silent_seconds()));
  }
  section.Finish();
}

}  // namespace rondo
