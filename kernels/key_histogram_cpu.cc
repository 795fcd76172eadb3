#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "kernels/accumulate_formula.h"
#include "kernels/check_entries.h"
#include "kernels/check_spans.h"
#include "kernels/cpu_path.h"
#include "kernels/cpu_stream.h"
#include "kernels/cuda_twins.h"
#include "kernels/key_histogram.h"

namespace rondo {
namespace {

// Neighbours often share a bin, and a counter can't be raised again before its last store is seen:
// so elements i, i+1, ... count in tables of their own. 2^32 elements fit into 32 bits a counter.
constexpr int kTables = 4;
struct Tables {
  uint32_t counts[kTables][kKeyBins] = {};

  // Counts the keys of a block that lies in the cache.
  RONDO_CPU_LOOP void Add(const float* values, int64_t count) {
    uint32_t bin[kBlock];
    for (int64_t i = 0; i < count; ++i) bin[i] = KeyOf(values[i]) >> kKeyLevels[0].shift;
    int64_t i = 0;
    for (; i + kTables <= count; i += kTables) {
      for (int table = 0; table < kTables; ++table) ++counts[table][bin[i + table]];
    }
    for (; i < count; ++i) ++counts[0][bin[i]];
  }
  void Sum(KeyHistogram* histogram) const {
    for (int b = 0; b < kKeyBins; ++b) {
      histogram->bins[b] = 0;
      for (int table = 0; table < kTables; ++table) histogram->bins[b] += counts[table][b];
    }
  }
};

struct AccumulateKeysLoop {
  SumScaledFormula formula;
  AccumulateKeysTensors tensors;
  Tables* tables;

  RONDO_CPU_LOOP void operator()() const {
    const SumScaledFormula f = formula;
    const float* residual = tensors.residual.data;
    const float* values = tensors.values.data;
    float* result = tensors.result.data;
    const int64_t size = tensors.result.size;
    for (int64_t first = 0; first < size; first += kBlock) {
      const int64_t count = std::min(kBlock, size - first);
      PrefetchAhead(residual + first, size - first);
      PrefetchAhead(values + first, size - first);
      PrefetchAhead(result + first, size - first);
      RONDO_INDEPENDENT_ITERATIONS
      for (int64_t i = first; i < first + count; ++i) result[i] = f(residual[i], values[i]);
      tables->Add(result + first, count);
    }
  }
};

struct CountKeysLoop {
  DeviceSpan<const float> x;
  Tables* tables;

  RONDO_CPU_LOOP void operator()() const {
    for (int64_t first = 0; first < x.size; first += kBlock) {
      PrefetchAhead(x.data + first, x.size - first);
      tables->Add(x.data + first, std::min(kBlock, x.size - first));
    }
  }
};

// `value` gives the i-th of `size` floats.
template <typename Value>
void CountAt(int64_t size, KeyLevel level, uint32_t prefix, std::span<uint64_t> bins,
             const Value& value) {
  std::fill(bins.begin(), bins.end(), 0);
  const uint32_t mask = (1u << level.bits) - 1;
  for (int64_t i = 0; i < size; ++i) {
    // Without a branch, which would go either way for half of a list. Keys under other prefixes
    // add 0 to the bin that they'd have under this one.
    const uint32_t key = KeyOf(value(i));
    bins[(key >> level.shift) & mask] += BinAt(key, level, prefix) >= 0;
  }
}

}  // namespace

absl::Status AccumulateKeys(const AccumulateKeysTensors& tensors, float scale,
                            KeyHistogram* histogram) {
  RETURN_IF_ERROR(CheckSpans(
      "accumulate_keys",
      {{"residual", tensors.residual}, {"values", tensors.values}, {"result", tensors.result}}));
  RETURN_IF_ERROR(CheckDenseSize("accumulate_keys", tensors.result.size));
  if (tensors.result.device.kind == DeviceKind::kCuda) {
    return AccumulateKeysCuda(tensors, scale, histogram);
  }
  Tables tables;
  RunCpuLoop(AccumulateKeysLoop{{scale}, tensors, &tables});
  tables.Sum(histogram);
  return absl::OkStatus();
}

absl::Status CountKeys(DeviceSpan<const float> x, KeyHistogram* histogram) {
  RETURN_IF_ERROR(CheckSpans("count_keys", {{"x", x}}));
  RETURN_IF_ERROR(CheckDenseSize("count_keys", x.size));
  if (x.device.kind == DeviceKind::kCuda) {
    return CountKeysAtCuda(x, kKeyLevels[0], 0, histogram->bins);
  }
  Tables tables;
  RunCpuLoop(CountKeysLoop{x, &tables});
  tables.Sum(histogram);
  return absl::OkStatus();
}

absl::Status CountKeysAt(DeviceSpan<const float> x, KeyLevel level, uint32_t prefix,
                         std::span<uint64_t> bins) {
  RETURN_IF_ERROR(CheckSpans("count_keys", {{"x", x}}));
  RETURN_IF_ERROR(CheckDenseSize("count_keys", x.size));
  if (x.device.kind == DeviceKind::kCuda) return CountKeysAtCuda(x, level, prefix, bins);
  CountAt(x.size, level, prefix, bins, [&](int64_t i) { return x.data[i]; });
  return absl::OkStatus();
}

absl::Status CountKeysAt(DeviceSpan<const SparseEntry> entries, KeyLevel level, uint32_t prefix,
                         std::span<uint64_t> bins) {
  RETURN_IF_ERROR(CheckEntries("count_keys", "entries", entries));
  if (entries.device.kind == DeviceKind::kCuda) {
    return CountKeysAtCuda(entries, level, prefix, bins);
  }
  CountAt(entries.size, level, prefix, bins, [&](int64_t i) { return entries.data[i].value; });
  return absl::OkStatus();
}

}  // namespace rondo
