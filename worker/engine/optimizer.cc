#include "worker/engine/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/adamw.h"
#include "kernels/norm.h"
#include "kernels/sgd.h"
#include "kernels/span.h"

namespace rondo {
namespace {

absl::Status CheckRange(std::string_view name, double value, double least, double below) {
  if (value >= least && value < below) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "optimizer.{} is {}, allowed are values from {} to below {}", name, value, least, below));
}

absl::Status CheckOptions(const OptimizerOptions& options) {
  RETURN_IF_ERROR(CheckRange("momentum", options.momentum, 0, INFINITY));
  RETURN_IF_ERROR(CheckRange("beta1", options.beta1, 0, 1));
  RETURN_IF_ERROR(CheckRange("beta2", options.beta2, 0, 1));
  RETURN_IF_ERROR(CheckRange("eps", options.eps, 0, INFINITY));
  RETURN_IF_ERROR(CheckRange("weight_decay", options.weight_decay, 0, INFINITY));
  RETURN_IF_ERROR(CheckRange("clip_norm", options.clip_norm, 0, INFINITY));
  if (options.nesterov && options.momentum == 0)
    return absl::InvalidArgumentError(
        "optimizer.nesterov needs optimizer.momentum above 0, as in PyTorch");
  return absl::OkStatus();
}

bool Decays(const std::string& name, const std::vector<std::string>& no_decay) {
  return std::none_of(no_decay.begin(), no_decay.end(), [&](const std::string& part) {
    return name.find(part) != std::string::npos;
  });
}

// Whole names and their parts between dots.
std::vector<std::string> WordsOf(const Layout& layout) {
  std::vector<std::string> words;
  for (const LayoutEntry& entry : layout.parameters) {
    words.push_back(entry.name);
    for (size_t begin = 0; begin <= entry.name.size();) {
      const size_t end = std::min(entry.name.find('.', begin), entry.name.size());
      words.push_back(entry.name.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

absl::Status CheckNoDecay(const std::vector<std::string>& no_decay, const Layout& layout) {
  for (const std::string& part : no_decay) {
    const bool known =
        std::any_of(layout.parameters.begin(), layout.parameters.end(),
                    [&](const LayoutEntry& e) { return e.name.find(part) != std::string::npos; });
    if (known) continue;
    const std::string nearest = NearestWord(part, WordsOf(layout));
    return absl::InvalidArgumentError(fmt::format(
        "optimizer.no_decay: no parameter has '{}' in its name{}; the model's parameters are "
        "named like '{}'",
        part, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
        layout.parameters.empty() ? "" : layout.parameters.back().name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> Optimizer::Create(const OptimizerOptions& options,
                                                             const Layout& layout) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(CheckNoDecay(options.no_decay, layout));
  return std::unique_ptr<Optimizer>(new Optimizer(options, layout));
}

Optimizer::Optimizer(const OptimizerOptions& options, const Layout& layout)
    : options_(options), size_(layout.parameter_count()) {
  for (const LayoutEntry& entry : layout.parameters) {
    places_.push_back({entry.offset, entry.size,
                       options.weight_decay > 0 && Decays(entry.name, options.no_decay)});
  }
  const bool adamw = options.kind == OptimizerKind::kAdamw;
  moments_.resize(adamw ? 2 : options.momentum > 0 ? 1 : 0);
  for (FlatFloats& moment : moments_) moment.resize(static_cast<size_t>(size_));
}

std::vector<DeviceSpan<float>> Optimizer::moments() {
  std::vector<DeviceSpan<float>> spans;
  for (FlatFloats& moment : moments_) spans.emplace_back(moment.data(), size_);
  return spans;
}

void Optimizer::Reset() {
  for (FlatFloats& moment : moments_) std::fill(moment.begin(), moment.end(), 0.0f);
  step_count_ = 0;
}

absl::Status Optimizer::Step(DeviceSpan<float> parameters, DeviceSpan<float> gradients,
                             double learning_rate, std::span<const uint8_t> has_gradient) {
  if (parameters.size != size_ || gradients.size != size_)
    return absl::InvalidArgumentError(
        fmt::format("the optimizer has {} elements, but got {} parameters and {} gradients", size_,
                    parameters.size, gradients.size));
  if (!has_gradient.empty() && has_gradient.size() != places_.size())
    return absl::InvalidArgumentError(fmt::format("has_gradient has {} entries for {} parameters",
                                                  has_gradient.size(), places_.size()));
  RETURN_IF_ERROR(ClipGradients(gradients));
  ++step_count_;
  const auto takes_part = [&](size_t i) { return has_gradient.empty() || has_gradient[i] != 0; };
  for (size_t i = 0; i < places_.size();) {
    if (!takes_part(i)) {
      ++i;
      continue;
    }
    Place segment = places_[i];  // Grows over its neighbours that are treated alike.
    for (++i; i < places_.size() && takes_part(i) && places_[i].decays == segment.decays; ++i)
      segment.size += places_[i].size;
    RETURN_IF_ERROR(StepSegment(segment, parameters, gradients, learning_rate));
  }
  return absl::OkStatus();
}

absl::Status Optimizer::ClipGradients(DeviceSpan<float> gradients) {
  if (options_.clip_norm == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Norm norm, ComputeNorm(gradients));
  const double scale = options_.clip_norm / (std::sqrt(norm.squared) + 1e-6);
  if (scale >= 1) return absl::OkStatus();
  return Scale(gradients, static_cast<float>(scale));
}

absl::Status Optimizer::StepSegment(const Place& segment, DeviceSpan<float> parameters,
                                    DeviceSpan<const float> gradients, double learning_rate) {
  const double weight_decay = segment.decays ? options_.weight_decay : 0;
  const DeviceSpan<float> weight = parameters.Sub(segment.offset, segment.size);
  const DeviceSpan<const float> gradient = gradients.Sub(segment.offset, segment.size);
  const auto moment = [&](size_t i) {
    return DeviceSpan<float>(moments_[i].data() + segment.offset, segment.size, parameters.device);
  };
  switch (options_.kind) {
    case OptimizerKind::kSgd:
      return Sgd({.learning_rate = static_cast<float>(learning_rate),
                  .momentum = static_cast<float>(options_.momentum),
                  .weight_decay = static_cast<float>(weight_decay),
                  .nesterov = options_.nesterov},
                 {.weight = weight,
                  .grad = gradient,
                  .velocity = moments_.empty() ? DeviceSpan<float>() : moment(0)});
    case OptimizerKind::kAdamw: {
      ASSIGN_OR_RETURN(const AdamwParams params, MakeAdamwParams({.learning_rate = learning_rate,
                                                                  .beta1 = options_.beta1,
                                                                  .beta2 = options_.beta2,
                                                                  .eps = options_.eps,
                                                                  .weight_decay = weight_decay,
                                                                  .step = step_count_}));
      return Adamw(params, {.weight = weight,
                            .grad = gradient,
                            .first_moment = moment(0),
                            .second_moment = moment(1)});
    }
  }
  return absl::InternalError("the optimizer's kind is not one of OptimizerKind");
}

}  // namespace rondo
