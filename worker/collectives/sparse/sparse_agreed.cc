#include "worker/collectives/sparse/sparse_agreed.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/mix64.h"
#include "kernels/key_formula.h"

namespace rondo {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kFixed = 4;  // version, steps, global key, local key; the cuts follow

}  // namespace

uint64_t DigestOf(const SparseAgreed& agreed) {
  if (agreed.cuts.empty()) return 0;
  uint64_t digest = Mix64(static_cast<uint64_t>(agreed.steps) + 1);
  digest = Mix64(digest ^ agreed.global_key);
  for (const int64_t cut : agreed.cuts) digest = Mix64(digest ^ static_cast<uint64_t>(cut));
  return digest | 1;
}

std::vector<int64_t> EncodeAgreed(const SparseAgreed& agreed) {
  std::vector<int64_t> encoded = {kVersion, agreed.steps, agreed.global_key, agreed.local_key};
  encoded.insert(encoded.end(), agreed.cuts.begin(), agreed.cuts.end());
  return encoded;
}

absl::StatusOr<SparseAgreed> DecodeAgreed(std::span<const int64_t> encoded, int64_t size) {
  const auto is_key = [](int64_t key) { return key >= 0 && key < int64_t{kInfinityKey}; };
  if (encoded.size() < kFixed || encoded[0] != kVersion || encoded[1] < 0 || !is_key(encoded[2]) ||
      !is_key(encoded[3])) {
    return absl::DataLossError(fmt::format(
        "the saved thresholds of a sparse reduction ({} integers) are damaged or of another "
        "version; without them it goes on and finds them afresh",
        encoded.size()));
  }
  SparseAgreed agreed{.cuts = {encoded.begin() + kFixed, encoded.end()},
                      .global_key = static_cast<uint32_t>(encoded[2]),
                      .local_key = static_cast<uint32_t>(encoded[3]),
                      .steps = encoded[1]};
  const std::vector<int64_t>& cuts = agreed.cuts;
  const bool right = cuts.empty() || (cuts.size() > 1 && cuts.front() == 0 && cuts.back() == size &&
                                      std::is_sorted(cuts.begin(), cuts.end()));
  if (right) return agreed;
  return absl::DataLossError(fmt::format(
      "the saved regions of a sparse reduction do not go from 0 to {} elements; without "
      "them it goes on and finds them afresh",
      size));
}

}  // namespace rondo
