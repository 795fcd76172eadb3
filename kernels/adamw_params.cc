#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "kernels/adamw.h"

namespace rondo {
namespace {

absl::Status CheckBeta(std::string_view name, double beta) {
  if (beta >= 0 && beta < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("adamw: {} is {}; it must be in [0, 1)", name, beta));
}

absl::Status CheckNotNegative(std::string_view name, double value) {
  if (value >= 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("adamw: {} is {}; it must be finite and not negative", name, value));
}

}  // namespace

absl::StatusOr<AdamwParams> MakeAdamwParams(const AdamwOptions& options) {
  RETURN_IF_ERROR(CheckNotNegative("learning_rate", options.learning_rate));
  RETURN_IF_ERROR(CheckBeta("beta1", options.beta1));
  RETURN_IF_ERROR(CheckBeta("beta2", options.beta2));
  RETURN_IF_ERROR(CheckNotNegative("eps", options.eps));
  RETURN_IF_ERROR(CheckNotNegative("weight_decay", options.weight_decay));
  if (options.step < 1) {
    return absl::InvalidArgumentError(
        fmt::format("adamw: step is {}; the first step is 1", options.step));
  }
  const double step = static_cast<double>(options.step);
  const double bias1 = 1 - std::pow(options.beta1, step);
  const double bias2 = 1 - std::pow(options.beta2, step);
  return AdamwParams{
      .decay = static_cast<float>(options.learning_rate * options.weight_decay),
      .beta1 = static_cast<float>(options.beta1),
      .one_minus_beta1 = static_cast<float>(1 - options.beta1),
      .beta2 = static_cast<float>(options.beta2),
      .one_minus_beta2 = static_cast<float>(1 - options.beta2),
      .step_size = static_cast<float>(options.learning_rate / bias1),
      .inverse_sqrt_bias2 = static_cast<float>(1 / std::sqrt(bias2)),
      .eps = static_cast<float>(options.eps),
  };
}

}  // namespace rondo
