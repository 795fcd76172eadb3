// How many elements a sparse reduction selects: what workers do and plans count on.
#ifndef RONDO_COMMON_DENSITY_H_
#define RONDO_COMMON_DENSITY_H_

#include <algorithm>
#include <cstdint>

namespace rondo {

// max(1, floor(density * size)), the product in double.
inline int64_t EntriesFor(int64_t size, double density) {
  return std::max<int64_t>(1, static_cast<int64_t>(density * static_cast<double>(size)));
}

}  // namespace rondo

#endif  // RONDO_COMMON_DENSITY_H_
