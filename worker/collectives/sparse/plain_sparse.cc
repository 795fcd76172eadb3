#include "worker/collectives/sparse/plain_sparse.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace rondo {
namespace {

bool SameBits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

std::vector<float> Dense(const std::vector<PlainEntry>& entries, size_t size) {
  std::vector<float> dense(size, 0.0f);
  for (const auto& [index, value] : entries) dense[static_cast<size_t>(index)] = value;
  return dense;
}

std::vector<float> RankSum(const Vectors& parts, size_t size) {
  std::vector<float> sum(size, 0.0f);
  for (const std::vector<float>& part : parts) {
    for (size_t i = 0; i < size; ++i) sum[i] += part[i];
  }
  return sum;
}

}  // namespace

Vectors Accumulated(const PlainInput& input) {
  Vectors a = input.residuals;
  for (size_t rank = 0; rank < a.size(); ++rank) {
    for (size_t i = 0; i < a[rank].size() && input.factors[rank] != 0; ++i) {
      const float scaled = input.factors[rank] * input.values[rank][i];
      a[rank][i] += scaled;
    }
  }
  return a;
}

PlainResult PlainReduce(const PlainInput& input, int64_t k) {
  PlainResult result;
  result.residuals = Accumulated(input);
  const size_t size = result.residuals[0].size();
  Vectors parts;
  float factor_sum = 0;
  for (size_t rank = 0; rank < input.factors.size(); ++rank) {
    const bool in = input.factors[rank] != 0;
    factor_sum += input.factors[rank];
    result.selected.push_back(in ? TopBySort(result.residuals[rank], k)
                                 : std::vector<PlainEntry>());
    parts.push_back(Dense(result.selected.back(), size));
  }
  result.delivered = TopBySort(RankSum(parts, size), k);
  const std::vector<float> winners = Dense(result.delivered, size);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    for (size_t i = 0; i < size; ++i) {
      if (parts[rank][i] != 0 && winners[i] != 0) result.residuals[rank][i] = 0;
    }
  }
  for (const float winner : winners) result.mean.push_back(winner / factor_sum);
  return result;
}

StepChecks CheckStep(const PlainInput& input, int64_t k, const std::vector<PlainEntry>& delivered,
                     const Vectors& residuals) {
  const Vectors a = Accumulated(input);
  const size_t size = a[0].size();
  const std::vector<float> winners = Dense(delivered, size);
  StepChecks checks{.conserves = true, .keeps_rest = true, .counts = true};
  std::vector<float> left(size, 0.0f);
  Vectors parts;
  for (size_t rank = 0; rank < a.size(); ++rank) {
    for (size_t i = 0; i < size; ++i) {
      if (SameBits(residuals[rank][i], a[rank][i])) continue;
      if (residuals[rank][i] != 0) checks.keeps_rest = false;
      left[i] += a[rank][i];
    }
    parts.push_back(
        Dense(input.factors[rank] != 0 ? TopBySort(a[rank], k) : std::vector<PlainEntry>(), size));
  }
  for (size_t i = 0; i < size; ++i) checks.conserves &= left[i] == winners[i];
  int64_t non_zeros = 0;
  for (const float x : RankSum(parts, size)) non_zeros += x != 0;
  checks.counts = static_cast<int64_t>(delivered.size()) == std::min(k, non_zeros);
  return checks;
}

}  // namespace rondo
