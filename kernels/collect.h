// Inside /kernels only: the CPU loops that pick the elements at or above a key out of a vector.
// Groups without any, which are most, cost a vector maximum; in the others each element is written
// and the write position moves on if it counts, without a branch.
#ifndef RONDO_KERNELS_COLLECT_H_
#define RONDO_KERNELS_COLLECT_H_

#include <algorithm>
#include <cstdint>

#include "kernels/accumulate_formula.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/key_formula.h"
#include "kernels/norm_formula.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

inline constexpr int64_t kCollectGroup = 16;  // elements: one cache line
static_assert(kBlock % kCollectGroup == 0);

// What surely fits into `places`: a group is written only if all of it could be.
constexpr int64_t ThresholdMost(int64_t places) {
  return places < kCollectGroup ? 0 : places - kCollectGroup;
}

struct Collected {
  int64_t count = 0;
  uint32_t largest = 0;  // key
  bool fits = true;
};

// The running state of a scan; `cut` as MagnitudeBits, which compare as signed integers.
struct Collector {
  int32_t cut;
  SparseEntry* out;
  int64_t places;
  int64_t count = 0;
  int32_t largest = 0;
  bool fits = true;

  template <int64_t kCount>
  static RONDO_CPU_LOOP int32_t LargestOf(const float* values) {
    int32_t largest = 0;
    for (int64_t i = 0; i < kCount; ++i) largest = std::max(largest, MagnitudeBits(values[i]));
    return largest;
  }

  // Elements [first, first + size) of the vector, size <= kCollectGroup.
  RONDO_CPU_LOOP void TakeGroup(const float* vector, int64_t first, int64_t size) {
    if (count + kCollectGroup > places) {
      fits = false;
      return;
    }
    int64_t at = count;
    for (int64_t i = first; i < first + size; ++i) {
      out[at] = {static_cast<uint32_t>(i), vector[i]};
      at += MagnitudeBits(vector[i]) >= cut;
    }
    count = at;
  }

  // Elements [first, first + kBlock).
  RONDO_CPU_LOOP void TakeBlock(const float* vector, int64_t first) {
    const int32_t of_block = LargestOf<kBlock>(vector + first);
    largest = std::max(largest, of_block);
    if (of_block < cut) return;
    for (int64_t at = first; at < first + kBlock; at += kCollectGroup) {
      if (LargestOf<kCollectGroup>(vector + at) >= cut) TakeGroup(vector, at, kCollectGroup);
    }
  }

  // The rest of a vector, fewer than kBlock elements.
  RONDO_CPU_LOOP void TakeTail(const float* vector, int64_t first, int64_t size) {
    for (int64_t at = first; at < size; at += kCollectGroup) {
      const int64_t count_here = std::min(kCollectGroup, size - at);
      for (int64_t i = at; i < at + count_here; ++i) {
        largest = std::max(largest, MagnitudeBits(vector[i]));
      }
      TakeGroup(vector, at, count_here);
    }
  }

  Collected Result() const {
    return {.count = count, .largest = static_cast<uint32_t>(largest), .fits = fits};
  }
};

struct CollectLoop {
  DeviceSpan<const float> x;
  uint32_t key;
  DeviceSpan<SparseEntry> entries;

  RONDO_CPU_LOOP Collected operator()() const {
    Collector collector{static_cast<int32_t>(key), entries.data, entries.size};
    int64_t first = 0;
    for (; first + kBlock <= x.size; first += kBlock) {
      PrefetchAhead(x.data + first, x.size - first);
      collector.TakeBlock(x.data, first);
      if (!collector.fits) return collector.Result();
    }
    collector.TakeTail(x.data, first, x.size);
    return collector.Result();
  }
};

struct AccumulateCollectLoop {
  SumScaledFormula formula;
  AccumulateKeysTensors tensors;
  uint32_t key;
  DeviceSpan<SparseEntry> entries;

  RONDO_CPU_LOOP Collected operator()() const {
    const SumScaledFormula f = formula;
    const float* residual = tensors.residual.data;
    const float* values = tensors.values.data;
    float* result = tensors.result.data;
    const int64_t size = tensors.result.size;
    Collector collector{static_cast<int32_t>(key), entries.data, entries.size};
    int64_t first = 0;
    for (; first + kBlock <= size; first += kBlock) {
      PrefetchAhead(residual + first, size - first);
      PrefetchAhead(values + first, size - first);
      PrefetchAhead(result + first, size - first);
      RONDO_INDEPENDENT_ITERATIONS
      for (int64_t i = first; i < first + kBlock; ++i) result[i] = f(residual[i], values[i]);
      collector.TakeBlock(result, first);
    }
    for (int64_t i = first; i < size; ++i) result[i] = f(residual[i], values[i]);
    collector.TakeTail(result, first, size);
    return collector.Result();
  }
};

// What `cut` takes of `x`, one element at a time: for vectors so full of ties that nothing else
// fits. Returns how many.
inline int64_t CollectCut(DeviceSpan<const float> x, const KeyCut& cut, SparseEntry* out) {
  int64_t count = 0;
  int64_t ties_left = cut.ties;
  for (int64_t i = 0; i < x.size; ++i) {
    const uint32_t key = KeyOf(x.data[i]);
    if (key < cut.key || (key == cut.key && ties_left == 0)) continue;
    ties_left -= key == cut.key;
    out[count++] = {static_cast<uint32_t>(i), x.data[i]};
  }
  return count;
}

}  // namespace rondo

#endif  // RONDO_KERNELS_COLLECT_H_
