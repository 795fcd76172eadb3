#include "tests/golden/golden_case.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/safetensors.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

using nlohmann::json;

OptimizerOptions ParseOptimizer(const json& optimizer, const json& sync) {
  OptimizerOptions options;
  options.weight_decay = optimizer["weight_decay"];
  if (optimizer["name"] == "adamw") {
    options.kind = OptimizerKind::kAdamw;
    options.beta1 = optimizer["beta1"];
    options.beta2 = optimizer["beta2"];
    options.eps = optimizer["eps"];
  } else {
    options.momentum = optimizer["momentum"];
    options.nesterov = optimizer["nesterov"];
  }
  if (sync.contains("clip_norm") && !sync["clip_norm"].is_null())
    options.clip_norm = sync["clip_norm"];
  return options;
}

void ParseSettings(const json& settings, GoldenCase* golden) {
  golden->model = settings["model"];
  golden->seed = settings["seed"];
  golden->workers = settings["workers"];
  golden->batch_per_worker = settings["batch_per_worker"];
  golden->steps = settings["steps"];
  golden->shuffle = settings["shuffle"];
  if (golden->shuffle) golden->shuffle_seed = settings["shuffle_seed"];
  const json& rate = settings["lr"];
  golden->schedule = rate["schedule"];
  golden->rate_peak = rate["max"];
  golden->rate_final = rate["final"];
  golden->warmup_steps = rate["warmup_steps"];
  golden->optimizer = ParseOptimizer(settings["optimizer"], settings["sync"]);
  const bool sparse = settings["sync"]["policy"] == "sparse";
  golden->parallel = sparse || settings["sync"]["policy"] == "parallel";
  if (sparse) golden->density = settings["sync"]["density"];
  golden->pixel_divisor = settings["data"]["pixel_divisor"];
}

void ParseExpected(const json& expected, GoldenCase* golden) {
  const json& rounds = expected["rounds"];
  golden->starts = rounds["start"].get<std::vector<int64_t>>();
  golden->lengths = rounds["H"].get<std::vector<int64_t>>();
  golden->rates = rounds["lr"].get<std::vector<double>>();
  golden->train_losses = rounds["train_loss"].get<std::vector<double>>();
  golden->param_sqnorms = rounds["param_sqnorm"].get<std::vector<double>>();
  golden->test_accuracy = expected["final"]["test_accuracy"];
  golden->test_loss = expected["final"]["test_loss"];
  const json& tolerance = expected["tolerance"];
  golden->tolerance = {.rate = tolerance["lr"],
                       .train_loss = tolerance["train_loss"],
                       .param_sqnorm = tolerance["param_sqnorm"],
                       .test_loss = tolerance["test_loss"],
                       .test_accuracy = tolerance["test_accuracy"],
                       .final_params = tolerance["final_params"],
                       .residual_sqnorm = tolerance.value("residual_sqnorm", 0.0)};
  if (rounds.contains("residual_sqnorm")) {
    golden->residual_sqnorms = rounds["residual_sqnorm"].get<std::vector<double>>();
  }
}

}  // namespace

absl::StatusOr<GoldenCase> LoadGoldenCase(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  GoldenCase golden;
  golden.name = name;
  golden.init_path = path + "/init.safetensors";
  golden.final_path = path + "/final.safetensors";
  try {
    std::ifstream settings(path + "/case.json"), expected(path + "/expected.json");
    ParseSettings(json::parse(settings), &golden);
    ParseExpected(json::parse(expected), &golden);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", path, error.what()));
  }
  return golden;
}

double GoldenRate(const GoldenCase& golden, int64_t step) {
  const double span = golden.rate_peak - golden.rate_final;
  const auto t = static_cast<double>(step), w = static_cast<double>(golden.warmup_steps);
  if (step < golden.warmup_steps) return golden.rate_final + t * span / w;
  const double done = (t - w) / (static_cast<double>(golden.steps) - w);
  if (golden.schedule == "cosine")
    return golden.rate_final + span * (1 + std::cos(std::numbers::pi * done)) / 2;
  if (golden.schedule == "linear") return golden.rate_final + span * (1 - done);
  return golden.rate_peak;
}

double RelativeDifference(double value, double reference) {
  return std::abs(value - reference) / std::abs(reference);
}

double ParameterDifference(const std::vector<float>& params, const std::vector<float>& reference,
                           const std::vector<float>& init) {
  if (params.size() != reference.size() || init.size() != reference.size()) return INFINITY;
  double difference = 0, moved = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    difference += std::pow(double{params[i]} - double{reference[i]}, 2);
    moved += std::pow(double{reference[i]} - double{init[i]}, 2);
  }
  return std::sqrt(difference / moved);
}

absl::StatusOr<std::vector<float>> LoadFlat(const std::string& path) {
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  std::vector<float> flat;
  for (const SafetensorsEntry& entry : header.entries) {
    const size_t offset = flat.size();
    flat.resize(offset + static_cast<size_t>(entry.elements));
    RETURN_IF_ERROR(
        ReadSafetensorsData(path, header, entry, SafetensorsType::kF32, flat.data() + offset));
  }
  return flat;
}

}  // namespace rondo
