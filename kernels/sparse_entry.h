// A sparse vector as a list of entries, in memory and on the wire: 8 bytes each, little-endian,
// index first. Lists of this folder are in ascending order of index unless a header says otherwise.
#ifndef RONDO_KERNELS_SPARSE_ENTRY_H_
#define RONDO_KERNELS_SPARSE_ENTRY_H_

#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "kernels/flat_floats.h"

namespace rondo {

// Without initialisers: a list of millions is resized without being written.
struct SparseEntry {
  uint32_t index;  // in the dense vector; never a float, which holds 24 bits
  float value;
};
static_assert(sizeof(SparseEntry) == 8 && std::is_trivially_copyable_v<SparseEntry>);

// The longest dense vector whose indices fit.
inline constexpr int64_t kSparseSizeMax = int64_t{1} << 32;

// Leaves new elements as the memory was.
template <typename T>
class UninitialisedAllocator : public HugePageAllocator<T> {
 public:
  template <typename U>
  struct rebind {
    using other = UninitialisedAllocator<U>;
  };
  UninitialisedAllocator() = default;
  template <typename U>
  UninitialisedAllocator(const UninitialisedAllocator<U>&) {}  // NOLINT: allocators convert

  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U{static_cast<Arguments&&>(arguments)...};
  }
};

using SparseEntries = std::vector<SparseEntry, UninitialisedAllocator<SparseEntry>>;

}  // namespace rondo

#endif  // RONDO_KERNELS_SPARSE_ENTRY_H_
