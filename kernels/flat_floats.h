// Host memory for long float32 vectors. Kernels that stream through tens of megabytes spend 10 to
// 20 % of their time on address translation with 4 KB pages; large blocks ask for huge pages
// instead, which Linux grants by default to those who ask.
// Threads: any. Errors: as std::allocator, std::bad_alloc.
#ifndef RONDO_KERNELS_FLAT_FLOATS_H_
#define RONDO_KERNELS_FLAT_FLOATS_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

namespace rondo {

// Blocks of at least kFrom bytes begin at a multiple of kHugePage and ask for huge pages; smaller
// ones are ordinary. A system that refuses gives ordinary pages: slower, nothing else.
template <typename T>
class HugePageAllocator {
 public:
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr size_t kFrom = 2 * kHugePage;
  static constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max() - kHugePage;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t count) {
    if (count > kMost / sizeof(T)) throw std::bad_alloc();
    size_t bytes = count * sizeof(T);
    const bool large = bytes >= kFrom;
    // aligned_alloc wants a multiple of the alignment.
    if (large) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* block = large ? std::aligned_alloc(kHugePage, bytes) : std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (large) (void)madvise(block, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { std::free(block); }

  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
  friend bool operator!=(const HugePageAllocator&, const HugePageAllocator&) { return false; }
};

using FlatFloats = std::vector<float, HugePageAllocator<float>>;

}  // namespace rondo

#endif  // RONDO_KERNELS_FLAT_FLOATS_H_
