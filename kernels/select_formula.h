// The arguments and results of key_histogram.h and select.h, the same text for CPU and CUDA.
#ifndef RONDO_KERNELS_SELECT_FORMULA_H_
#define RONDO_KERNELS_SELECT_FORMULA_H_

#include <array>
#include <cstdint>

#include "kernels/key_formula.h"
#include "kernels/span.h"

namespace rondo {

// Of the first level: all keys, zeros too.
struct KeyHistogram {
  std::array<uint64_t, kKeyBins> bins;

  // False if an element is infinite or NaN.
  bool finite() const {
    uint64_t infinite = 0;
    for (int bin = kFirstInfiniteBin; bin < kKeyBins; ++bin) infinite += bins[bin];
    return infinite == 0;
  }
};

// All of one size on one device. `result` may be `residual` or `values`.
struct AccumulateKeysTensors {
  DeviceSpan<const float> residual;
  DeviceSpan<const float> values;
  DeviceSpan<float> result;
};

struct Selected {
  int64_t count = 0;        // entries [0, count) are the selection
  uint32_t lowest_key = 1;  // the smallest key that was selected or, if fewer than k aren't 0, 1
};

struct ThresholdSelected {
  int64_t count = 0;   // entries [0, count) are the selection; meaningless unless `fits`
  bool fits = true;    // false: there are more than places; the sum was made all the same
  bool finite = true;  // no element of the sum is infinite or NaN
};

struct CutCount {
  int64_t above = 0;
  int64_t ties = 0;
};

}  // namespace rondo

#endif  // RONDO_KERNELS_SELECT_FORMULA_H_
