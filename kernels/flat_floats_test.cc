#include "kernels/flat_floats.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace rondo {
namespace {

TEST(FlatFloatsTest, EverySizeIsWritableToItsEndAndStartsAtZero) {
  for (const size_t size : {0u, 1u, 1'000u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, 3'000'001u}) {
    FlatFloats flat(size);
    for (const float x : flat) ASSERT_EQ(x, 0.0f);
    for (float& x : flat) x = 1.5f;
    FlatFloats copy = flat;
    EXPECT_EQ(copy, flat);
  }
}

TEST(FlatFloatsTest, LargeVectorsBeginAtAHugePage) {
  const FlatFloats large(1 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % HugePageAllocator<float>::kHugePage, 0u);
}

TEST(FlatFloatsTest, ASizeThatCannotBeHadThrows) {
  FlatFloats flat;
  EXPECT_ANY_THROW(flat.resize(flat.max_size()));
}

}  // namespace
}  // namespace rondo
