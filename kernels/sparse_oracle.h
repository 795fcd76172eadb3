// For tests of sparse kernels and of what is built on them: vectors of every nasty shape, and the
// plain way to select.
#ifndef RONDO_KERNELS_SPARSE_ORACLE_H_
#define RONDO_KERNELS_SPARSE_ORACLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/sparse_entry.h"

namespace rondo {

enum class Shape { kNormal, kHeavyTailed, kTied, kAllEqual, kZero, kMostlyZero, kDenormal };
inline constexpr Shape kShapes[] = {Shape::kNormal,   Shape::kHeavyTailed, Shape::kTied,
                                    Shape::kAllEqual, Shape::kZero,        Shape::kMostlyZero,
                                    Shape::kDenormal};

inline float OneOf(Shape shape, std::mt19937* generator) {
  std::normal_distribution<float> normal;
  const float x = normal(*generator);
  const float sign = x < 0 ? -1.0f : 1.0f;
  switch (shape) {
    case Shape::kNormal:
      return x;
    case Shape::kHeavyTailed:
      return sign * std::exp(4 * std::abs(x));
    case Shape::kTied:
      return std::round(2 * x) / 2;  // a handful of magnitudes, zero and both its signs among them
    case Shape::kAllEqual:
      return 0.75f * sign;
    case Shape::kZero:
      return 0.0f * sign;
    case Shape::kMostlyZero:
      return std::abs(x) > 2.5f ? x : 0.0f;
    case Shape::kDenormal:
      return x * 40 * std::numeric_limits<float>::denorm_min();
  }
  return x;
}

// The same for one seed.
inline std::vector<float> FloatsOf(Shape shape, int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = OneOf(shape, &generator);
  return values;
}

using PlainEntry = std::pair<int64_t, float>;

// The first min(k, non-zeros) elements by magnitude descending, then index ascending, in order of
// index: by a sort.
inline std::vector<PlainEntry> TopBySort(const std::vector<float>& values, int64_t k) {
  std::vector<PlainEntry> entries;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) entries.push_back({static_cast<int64_t>(i), values[i]});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const PlainEntry& a, const PlainEntry& b) {
    return std::abs(double{a.second}) > std::abs(double{b.second});
  });
  if (static_cast<int64_t>(entries.size()) > k) entries.resize(static_cast<size_t>(k));
  std::sort(entries.begin(), entries.end());
  return entries;
}

inline std::vector<PlainEntry> PlainOf(const SparseEntry* entries, int64_t count) {
  std::vector<PlainEntry> plain;
  for (int64_t i = 0; i < count; ++i) plain.push_back({entries[i].index, entries[i].value});
  return plain;
}

inline SparseEntries EntriesOf(const std::vector<PlainEntry>& plain) {
  SparseEntries entries;
  for (const auto& [index, value] : plain) {
    entries.push_back({static_cast<uint32_t>(index), value});
  }
  return entries;
}

}  // namespace rondo

#endif  // RONDO_KERNELS_SPARSE_ORACLE_H_
