#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/job/sections.h"

namespace rondo {
namespace {

constexpr IntRange kStepRange = {.min = 0, .max = kJobStepsMax};
constexpr IntRange kSomeSteps = {.min = 1, .max = kJobStepsMax};
constexpr RealRange kPositive = {.min = 0, .above_min = true};
constexpr RealRange kNotNegative = {.min = 0};
constexpr RealRange kShare = {.min = 0, .max = 1, .below_max = true};

// "kind: sgd" for messages; the value has been read already.
std::string KindText(Section& section, std::string_view key, bool known) {
  return known ? fmt::format("{}: {}", key, section.Text(key).value_or("")) : "";
}

bool IsAscending(const std::vector<int64_t>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= values[i - 1]) return false;
  }
  return true;
}

// The drops of kind step: in steps or in epochs.
void ReadDrops(Section& section, bool used, std::string_view kind, v1::Schedule* schedule) {
  const auto at_steps = section.Ints("at_steps", kSomeSteps);
  const auto at_epochs = section.Ints("at_epochs", kSomeSteps);
  if (used && section.Has("at_steps") && section.Has("at_epochs")) {
    section.Fail("at_epochs", "drops are given by at_steps or at_epochs: keep one of the two");
  } else if (schedule->kind() == v1::SCHEDULE_KIND_STEP && !section.Has("at_epochs")) {
    section.Require("at_steps", "at_steps: [first, second, ...] or at_epochs: [...]");
  }
  const auto take = [&](const char* key, const std::optional<std::vector<int64_t>>& list,
                        auto* field) {
    const std::vector<int64_t> values =
        ValueIfUsed<std::vector<int64_t>>(section, key, list, {}, used, kind);
    if (!IsAscending(values)) section.Fail(key, "must be in ascending order, each value once");
    field->Assign(values.begin(), values.end());
  };
  take("at_steps", at_steps, schedule->mutable_at_steps());
  take("at_epochs", at_epochs, schedule->mutable_at_epochs());
}

// peak * gamma^drops must stay a number.
void CheckGrowth(Section& section, const v1::Schedule& schedule) {
  const int drops = std::max(schedule.at_steps_size(), schedule.at_epochs_size());
  if (std::isfinite(schedule.peak() * std::pow(schedule.gamma(), drops))) return;
  section.Fail("gamma", fmt::format("{} drops by this factor make an infinite rate", drops));
}

void ReadLength(Section& section, v1::Schedule* schedule) {
  const auto epochs = section.Int("epochs", kSomeSteps);
  const auto steps = section.Int("steps", kSomeSteps);
  if (section.Has("epochs") && section.Has("steps")) {
    section.Fail("steps", "the length is given by epochs or steps: keep one of the two");
  } else if (!section.Has("epochs")) {
    section.Require("steps", "steps: N or epochs: N");
  }
  if (steps) {
    schedule->set_steps(*steps);
  } else if (epochs) {
    schedule->set_epochs(*epochs);
  }
}

struct Policy {
  const char* word;
  v1::SyncPolicy value;
  bool alpha, power, base, max, switches, table, round;  // The keys it uses.
};

// When the file names none: no key is superfluous.
constexpr Policy kAnyPolicy = {"",  v1::SYNC_POLICY_UNSPECIFIED, true, true, true, true, true, true,
                               true};

constexpr Policy kPolicies[] = {
    {"parallel", v1::SYNC_POLICY_PARALLEL, false, false, false, false, false, false, true},
    {"constant", v1::SYNC_POLICY_CONSTANT, false, false, true, false, false, false, false},
    {"qsr", v1::SYNC_POLICY_QSR, true, false, true, true, false, false, false},
    {"power", v1::SYNC_POLICY_POWER, true, true, true, true, false, false, false},
    {"post_local", v1::SYNC_POLICY_POST_LOCAL, false, false, true, false, true, false, true},
    {"swap", v1::SYNC_POLICY_SWAP, false, false, true, true, true, false, false},
    {"table", v1::SYNC_POLICY_TABLE, false, false, false, false, false, true, false},
};

void ReadTable(Section& section, const Policy& policy, v1::Sync* sync) {
  using Rows = std::vector<std::pair<int64_t, int64_t>>;
  const std::optional<Rows> given = section.Pairs("table", kStepRange, kSomeSteps);
  const Rows rows = ValueIfUsed<Rows>(section, "table", given, {}, policy.table,
                                      fmt::format("policy: {}", policy.word));
  if (given && given->empty() && policy.table) section.Fail("table", "must have at least one row");
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool ordered = i == 0 ? rows[i].first == 0 : rows[i].first > rows[i - 1].first;
    if (!ordered) {
      section.Fail("table",
                   fmt::format("row {}: the first row starts at step 0, and each later one "
                               "at a larger step than the one before",
                               i));
      return;
    }
    v1::TableRow* row = sync->add_table();
    row->set_from_step(rows[i].first);
    row->set_length(rows[i].second);
  }
}

void ReadPolicyKeys(Section& section, const Policy& policy, v1::Sync* sync) {
  const std::string kind = fmt::format("policy: {}", policy.word);
  const bool known = policy.value != v1::SYNC_POLICY_UNSPECIFIED;
  if (known && policy.alpha) section.Require("alpha", "alpha: NUMBER (the rule's alpha, as 0.02)");
  if (known && policy.base)
    section.Require("base_steps", "base_steps: N (the least steps of a round)");
  if (known && policy.switches) section.Require("switch_step", "switch_step: N");
  // 0 says "none" for a policy without alpha.
  const auto alpha =
      section.Real("alpha", {.min = 0, .above_min = known && policy.alpha, .max = 1e100});
  sync->set_alpha(ValueIfUsed(section, "alpha", alpha, 0.0, policy.alpha, kind));
  sync->set_base_steps(ValueIfUsed<int64_t>(
      section, "base_steps", section.Int("base_steps", kSomeSteps), 1, policy.base, kind));
  const auto power = section.Real("power", {.min = 0, .above_min = true, .max = 100});
  sync->set_power(ValueIfUsed(section, "power", power, 2.0, policy.power, kind));
  sync->set_max_steps(ValueIfUsed<int64_t>(
      section, "max_steps", section.Int("max_steps", kStepRange), 0, policy.max, kind));
  sync->set_switch_step(ValueIfUsed<int64_t>(
      section, "switch_step", section.Int("switch_step", kStepRange), 0, policy.switches, kind));
  sync->set_round_steps(ValueIfUsed<int64_t>(
      section, "round_steps", section.Int("round_steps", kSomeSteps), 50, policy.round, kind));
  if (sync->max_steps() > 0 && sync->max_steps() < sync->base_steps()) {
    section.Fail("max_steps",
                 fmt::format("must be 0 (no limit) or at least base_steps, which is {}",
                             sync->base_steps()));
  }
}

}  // namespace

void ReadOptimizer(Section& root, ReadLog* log, v1::Optimizer* optimizer) {
  root.Require("optimizer", "optimizer: {kind: sgd, ...} or {kind: adamw, ...}");
  Section section(root.Map("optimizer"), "optimizer", log);
  section.Require("kind", "kind: sgd or kind: adamw");
  const auto kind = section.Word<v1::OptimizerKind>(
      "kind", {{"sgd", v1::OPTIMIZER_KIND_SGD}, {"adamw", v1::OPTIMIZER_KIND_ADAMW}});
  optimizer->set_kind(kind.value_or(v1::OPTIMIZER_KIND_UNSPECIFIED));
  // A kind that is missing or mistyped is one error, not one for each of its keys.
  const bool sgd = kind != v1::OPTIMIZER_KIND_ADAMW, adamw = kind != v1::OPTIMIZER_KIND_SGD;
  const std::string name = KindText(section, "kind", kind.has_value());
  optimizer->set_momentum(
      ValueIfUsed(section, "momentum", section.Real("momentum", kShare), 0.0, sgd, name));
  optimizer->set_nesterov(
      ValueIfUsed(section, "nesterov", section.Bool("nesterov"), false, sgd, name));
  if (optimizer->nesterov() && optimizer->momentum() == 0) {
    section.Fail("nesterov", "needs a momentum greater than 0");
  }
  optimizer->set_weight_decay(section.Real("weight_decay", kNotNegative).value_or(0));
  for (std::string& word : section.Texts("no_decay").value_or(std::vector<std::string>{})) {
    optimizer->add_no_decay(std::move(word));
  }
  optimizer->set_clip_norm(section.Real("clip_norm", kNotNegative).value_or(0));
  const std::vector<double> kBetas = {0.9, 0.999};
  std::vector<double> betas =
      ValueIfUsed(section, "betas", section.Reals("betas", kShare), kBetas, adamw, name);
  if (betas.size() != 2) {
    section.Fail("betas", "must be two numbers [beta1, beta2], each from 0 and less than 1");
    betas = kBetas;
  }
  optimizer->set_beta1(betas[0]);
  optimizer->set_beta2(betas[1]);
  optimizer->set_eps(
      ValueIfUsed(section, "eps", section.Real("eps", kPositive), 1e-8, adamw, name));
  section.Finish();
}

void ReadSchedule(Section& root, ReadLog* log, v1::Schedule* schedule) {
  root.Require("schedule", "schedule: {kind: cosine, epochs: N, peak: RATE}");
  Section section(root.Map("schedule"), "schedule", log);
  section.Require("kind", "kind: constant, cosine, linear, step, cosine_step or wsd");
  const auto kind =
      section.Word<v1::ScheduleKind>("kind", {{"constant", v1::SCHEDULE_KIND_CONSTANT},
                                              {"cosine", v1::SCHEDULE_KIND_COSINE},
                                              {"linear", v1::SCHEDULE_KIND_LINEAR},
                                              {"step", v1::SCHEDULE_KIND_STEP},
                                              {"cosine_step", v1::SCHEDULE_KIND_COSINE_STEP},
                                              {"wsd", v1::SCHEDULE_KIND_WSD}});
  schedule->set_kind(kind.value_or(v1::SCHEDULE_KIND_UNSPECIFIED));
  ReadLength(section, schedule);
  section.Require("peak", "peak: RATE (the highest learning rate)");
  schedule->set_peak(section.Real("peak", {.min = 0, .above_min = true, .max = 1e30}).value_or(0));
  schedule->set_final(section.Real("final", {.min = 0, .max = 1e30}).value_or(1e-6));
  schedule->set_warmup_steps(section.Int("warmup_steps", kStepRange).value_or(0));
  const bool step = !kind || kind == v1::SCHEDULE_KIND_STEP;
  const bool wsd = !kind || kind == v1::SCHEDULE_KIND_WSD;
  const bool rounded = !kind || kind == v1::SCHEDULE_KIND_COSINE_STEP;
  const std::string name = KindText(section, "kind", kind.has_value());
  schedule->set_gamma(ValueIfUsed(section, "gamma",
                                  section.Real("gamma", {.min = 0, .above_min = true, .max = 1e6}),
                                  0.1, step, name));
  ReadDrops(section, step, name, schedule);
  CheckGrowth(section, *schedule);
  schedule->set_rounding_base(
      ValueIfUsed(section, "rounding_base",
                  section.Real("rounding_base", {.min = 1, .above_min = true, .max = 1e6}), 2.0,
                  rounded, name));
  if (kind == v1::SCHEDULE_KIND_WSD) section.Require("decay_steps", "decay_steps: N");
  schedule->set_decay_steps(ValueIfUsed<int64_t>(
      section, "decay_steps", section.Int("decay_steps", kSomeSteps), 0, wsd, name));
  const auto decay = section.Word<v1::DecayShape>(
      "decay", {{"linear", v1::DECAY_SHAPE_LINEAR}, {"cosine", v1::DECAY_SHAPE_COSINE}});
  schedule->set_decay(ValueIfUsed(section, "decay", decay, v1::DECAY_SHAPE_LINEAR, wsd, name));
  section.Finish();
}

void ReadSync(Section& root, ReadLog* log, v1::Sync* sync) {
  root.Require("sync", "sync: {policy: qsr, alpha: NUMBER, base_steps: N}");
  Section section(root.Map("sync"), "sync", log);
  section.Require("policy", "policy: parallel, constant, qsr, power, post_local, swap or table");
  const auto policy = section.Word<const Policy*>("policy", {{kPolicies[0].word, &kPolicies[0]},
                                                             {kPolicies[1].word, &kPolicies[1]},
                                                             {kPolicies[2].word, &kPolicies[2]},
                                                             {kPolicies[3].word, &kPolicies[3]},
                                                             {kPolicies[4].word, &kPolicies[4]},
                                                             {kPolicies[5].word, &kPolicies[5]},
                                                             {kPolicies[6].word, &kPolicies[6]}});
  const Policy& chosen = policy ? **policy : kAnyPolicy;
  sync->set_policy(chosen.value);
  ReadPolicyKeys(section, chosen, sync);
  if (chosen.value == v1::SYNC_POLICY_TABLE) {
    section.Require("table", "table: [[0, length], [from_step, length], ...]");
  }
  ReadTable(section, chosen, sync);
  section.Finish();
}

}  // namespace rondo
