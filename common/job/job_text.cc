#include "common/job/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "absl/strings/str_join.h"

namespace rondo {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// COLLECTIVE_KIND_RING without its prefix, in small letters.
std::string Word(std::string_view prefix, std::string_view name) {
  std::string word(name.substr(prefix.size()));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

// In single quotes, the one form of YAML in which only the quote itself is special.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// The shortest text that reads as the same double.
std::string Real(double value) { return fmt::format("{}", value); }

template <typename List>
std::string Numbers(const List& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

void AddModel(const v1::Model& model, Keys* keys) {
  if (model.has_mlp()) {
    keys->emplace_back("model.builtin", "mlp");
    keys->emplace_back("model.layers", Numbers(model.mlp().layers()));
  } else if (model.has_convnet()) {
    keys->emplace_back("model.builtin", "convnet");
  } else {
    keys->emplace_back("model.torchscript", Quoted(model.torchscript().path()));
  }
  if (!model.init().empty()) keys->emplace_back("model.init", Quoted(model.init()));
}

void AddData(const v1::Data& data, Keys* keys) {
  const bool idx = data.format() == v1::DATA_FORMAT_IDX;
  keys->emplace_back("data.format", Word("DATA_FORMAT_", v1::DataFormat_Name(data.format())));
  const auto add_files = [&](const char* set, const v1::DataFiles& files) {
    keys->emplace_back(fmt::format("data.{}.{}", set, idx ? "images" : "inputs"),
                       Quoted(files.inputs()));
    keys->emplace_back(fmt::format("data.{}.{}", set, idx ? "labels" : "targets"),
                       Quoted(files.targets()));
  };
  add_files("train", data.train());
  if (data.has_test()) add_files("test", data.test());
  keys->emplace_back("data.divisor", Real(data.divisor()));
  keys->emplace_back("data.shuffle", fmt::format("{}", data.shuffle()));
}

void AddOptimizer(const v1::Optimizer& o, Keys* keys) {
  keys->emplace_back("optimizer.kind", Word("OPTIMIZER_KIND_", v1::OptimizerKind_Name(o.kind())));
  if (o.kind() == v1::OPTIMIZER_KIND_SGD) {
    keys->emplace_back("optimizer.momentum", Real(o.momentum()));
    keys->emplace_back("optimizer.nesterov", fmt::format("{}", o.nesterov()));
  } else {
    keys->emplace_back("optimizer.betas", fmt::format("[{}, {}]", o.beta1(), o.beta2()));
    keys->emplace_back("optimizer.eps", Real(o.eps()));
  }
  keys->emplace_back("optimizer.weight_decay", Real(o.weight_decay()));
  std::vector<std::string> words;
  for (const std::string& word : o.no_decay()) words.push_back(Quoted(word));
  keys->emplace_back("optimizer.no_decay", Numbers(words));
  keys->emplace_back("optimizer.clip_norm", Real(o.clip_norm()));
}

void AddSchedule(const v1::Schedule& s, Keys* keys) {
  keys->emplace_back("schedule.kind", Word("SCHEDULE_KIND_", v1::ScheduleKind_Name(s.kind())));
  if (s.length_case() == v1::Schedule::kEpochs) {
    keys->emplace_back("schedule.epochs", fmt::format("{}", s.epochs()));
  } else {
    keys->emplace_back("schedule.steps", fmt::format("{}", s.steps()));
  }
  keys->emplace_back("schedule.peak", Real(s.peak()));
  keys->emplace_back("schedule.final", Real(s.final()));
  keys->emplace_back("schedule.warmup_steps", fmt::format("{}", s.warmup_steps()));
  if (s.kind() == v1::SCHEDULE_KIND_STEP) {
    keys->emplace_back("schedule.gamma", Real(s.gamma()));
    const bool in_epochs = s.at_epochs_size() > 0;
    keys->emplace_back(in_epochs ? "schedule.at_epochs" : "schedule.at_steps",
                       Numbers(in_epochs ? s.at_epochs() : s.at_steps()));
  }
  if (s.kind() == v1::SCHEDULE_KIND_COSINE_STEP) {
    keys->emplace_back("schedule.rounding_base", Real(s.rounding_base()));
  }
  if (s.kind() == v1::SCHEDULE_KIND_WSD) {
    keys->emplace_back("schedule.decay_steps", fmt::format("{}", s.decay_steps()));
    keys->emplace_back("schedule.decay", Word("DECAY_SHAPE_", v1::DecayShape_Name(s.decay())));
  }
}

void AddSync(const v1::Sync& sync, Keys* keys) {
  const v1::SyncPolicy policy = sync.policy();
  const bool power = policy == v1::SYNC_POLICY_QSR || policy == v1::SYNC_POLICY_POWER;
  const bool switches = policy == v1::SYNC_POLICY_POST_LOCAL || policy == v1::SYNC_POLICY_SWAP;
  keys->emplace_back("sync.policy", Word("SYNC_POLICY_", v1::SyncPolicy_Name(policy)));
  if (power) keys->emplace_back("sync.alpha", Real(sync.alpha()));
  if (power || switches || policy == v1::SYNC_POLICY_CONSTANT) {
    keys->emplace_back("sync.base_steps", fmt::format("{}", sync.base_steps()));
  }
  if (policy == v1::SYNC_POLICY_POWER) keys->emplace_back("sync.power", Real(sync.power()));
  if (power || policy == v1::SYNC_POLICY_SWAP) {
    keys->emplace_back("sync.max_steps", fmt::format("{}", sync.max_steps()));
  }
  if (switches) keys->emplace_back("sync.switch_step", fmt::format("{}", sync.switch_step()));
  if (policy == v1::SYNC_POLICY_TABLE) {
    std::vector<std::string> rows;
    for (const v1::TableRow& row : sync.table()) {
      rows.push_back(fmt::format("[{}, {}]", row.from_step(), row.length()));
    }
    keys->emplace_back("sync.table", Numbers(rows));
  }
  if (policy == v1::SYNC_POLICY_PARALLEL || policy == v1::SYNC_POLICY_POST_LOCAL) {
    keys->emplace_back("sync.round_steps", fmt::format("{}", sync.round_steps()));
  }
}

void AddRunning(const v1::Job& job, Keys* keys) {
  const v1::Collective& collective = job.collective();
  keys->emplace_back("collective.kind",
                     Word("COLLECTIVE_KIND_", v1::CollectiveKind_Name(collective.kind())));
  if (collective.kind() != v1::COLLECTIVE_KIND_RING) {
    keys->emplace_back("collective.density", Real(collective.density()));
  }
  if (collective.select() != v1::SELECT_MODE_UNSPECIFIED) {
    keys->emplace_back("collective.select",
                       Word("SELECT_MODE_", v1::SelectMode_Name(collective.select())));
  }
  if (collective.warmup_steps() > 0) {
    keys->emplace_back("collective.warmup_steps", fmt::format("{}", collective.warmup_steps()));
    keys->emplace_back("collective.warmup_density", Real(collective.warmup_density()));
  }
  keys->emplace_back(
      "state.optimizer",
      Word("OPTIMIZER_STATE_POLICY_", v1::OptimizerStatePolicy_Name(job.state().optimizer())));
  keys->emplace_back("state.buffers",
                     Word("BUFFER_POLICY_", v1::BufferPolicy_Name(job.state().buffers())));
  const v1::Workers& workers = job.workers();
  keys->emplace_back("workers.min", fmt::format("{}", workers.min()));
  keys->emplace_back("workers.max", fmt::format("{}", workers.max()));
  keys->emplace_back("workers.wait_seconds", Real(workers.wait_seconds()));
  keys->emplace_back("workers.return_seconds", Real(workers.return_seconds()));
  keys->emplace_back("workers.give_up_seconds", Real(workers.give_up_seconds()));
  keys->emplace_back("workers.rewind_after_seconds", Real(workers.rewind_after_seconds()));
  keys->emplace_back("workers.cool_down_seconds", Real(workers.cool_down_seconds()));
  keys->emplace_back("workers.cool_down_max_seconds", Real(workers.cool_down_max_seconds()));
  keys->emplace_back("workers.losses_free", fmt::format("{}", workers.losses_free()));
  keys->emplace_back("workers.forgive_seconds", Real(workers.forgive_seconds()));
  const v1::Checkpoint& checkpoint = job.checkpoint();
  keys->emplace_back("checkpoint.every_steps", fmt::format("{}", checkpoint.every_steps()));
  keys->emplace_back("checkpoint.keep", fmt::format("{}", checkpoint.keep()));
  if (!checkpoint.shared_dir().empty()) {
    keys->emplace_back("checkpoint.shared_dir", Quoted(checkpoint.shared_dir()));
  }
  keys->emplace_back("checkpoint.partials", fmt::format("{}", checkpoint.partials()));
  if (job.evaluate().every_epochs() > 0) {
    keys->emplace_back("evaluate.every_epochs", fmt::format("{}", job.evaluate().every_epochs()));
  }
  if (job.evaluate().every_steps() > 0) {
    keys->emplace_back("evaluate.every_steps", fmt::format("{}", job.evaluate().every_steps()));
  }
}

void AddLimits(const v1::Limits& limits, Keys* keys) {
  const std::pair<const char*, double> seconds[] = {
      {"heartbeat", limits.heartbeat_seconds()},
      {"silent", limits.silent_seconds()},
      {"lost", limits.lost_seconds()},
      {"assemble", limits.assemble_seconds()},
      {"collective", limits.collective_seconds()},
      {"abort", limits.abort_seconds()},
      {"stall", limits.stall_seconds()},
      {"coordinator_away", limits.coordinator_away_seconds()},
      {"report", limits.report_seconds()},
      {"evaluate", limits.evaluate_seconds()},
      {"save", limits.save_seconds()}};
  for (const auto& [name, value] : seconds) {
    keys->emplace_back(fmt::format("limits.{}_seconds", name), Real(value));
  }
  keys->emplace_back("limits.attempts", fmt::format("{}", limits.attempts()));
  keys->emplace_back("limits.not_finite_rounds", fmt::format("{}", limits.not_finite_rounds()));
}

// Appends "a: 1, b: {c: 2}" for the keys below `prefix`, from `*at` on.
std::string FlowMap(const Keys& keys, const std::string& prefix, size_t* at) {
  std::vector<std::string> parts;
  while (*at < keys.size() && keys[*at].first.compare(0, prefix.size(), prefix) == 0) {
    const std::string rest = keys[*at].first.substr(prefix.size());
    const size_t dot = rest.find('.');
    if (dot == std::string::npos) {
      parts.push_back(fmt::format("{}: {}", rest, keys[*at].second));
      ++*at;
    } else {
      const std::string name = rest.substr(0, dot);
      const std::string inner = FlowMap(keys, prefix + name + ".", at);
      parts.push_back(fmt::format("{}: {{{}}}", name, inner));
    }
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

Keys JobKeys(const v1::Job& job) {
  Keys keys;
  keys.emplace_back("name", job.name());
  keys.emplace_back("seed", fmt::format("{}", job.seed()));
  AddModel(job.model(), &keys);
  AddData(job.data(), &keys);
  keys.emplace_back("loss", Word("LOSS_", v1::Loss_Name(job.loss())));
  keys.emplace_back("precision", Word("PRECISION_", v1::Precision_Name(job.precision())));
  const bool global = job.batch().size_case() == v1::Batch::kGlobal;
  keys.emplace_back(global ? "batch.global" : "batch.per_worker",
                    fmt::format("{}", global ? job.batch().global() : job.batch().per_worker()));
  keys.emplace_back("batch.micro", fmt::format("{}", job.batch().micro()));
  AddOptimizer(job.optimizer(), &keys);
  AddSchedule(job.schedule(), &keys);
  AddSync(job.sync(), &keys);
  AddRunning(job, &keys);
  AddLimits(job.limits(), &keys);
  return keys;
}

std::string FormatJob(const v1::Job& job) {
  const Keys keys = JobKeys(job);
  std::string text;
  for (size_t at = 0; at < keys.size();) {
    const size_t dot = keys[at].first.find('.');
    if (dot == std::string::npos) {
      text += fmt::format("{}: {}\n", keys[at].first, keys[at].second);
      ++at;
    } else {
      const std::string name = keys[at].first.substr(0, dot);
      const std::string inner = FlowMap(keys, name + ".", &at);
      text += fmt::format("{}: {{{}}}\n", name, inner);
    }
  }
  return text;
}

std::vector<std::string> DifferingKeys(const v1::Job& a, const v1::Job& b) {
  const Keys keys_a = JobKeys(a), keys_b = JobKeys(b);
  const std::map<std::string, std::string> map_a(keys_a.begin(), keys_a.end());
  const std::map<std::string, std::string> map_b(keys_b.begin(), keys_b.end());
  std::vector<std::string> differing;
  for (const auto& [key, value] : keys_a) {
    const auto other = map_b.find(key);
    if (other == map_b.end() || other->second != value) differing.push_back(key);
  }
  for (const auto& [key, value] : keys_b) {
    if (!map_a.contains(key)) differing.push_back(key);
  }
  return differing;
}

}  // namespace rondo
