#include "worker/collectives/sparse/residual_selection.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/key_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/reduction.h"

namespace rondo {
namespace {

constexpr int64_t kSize = 5000;

std::vector<PlainEntry> Selected(const ResidualSelection& selection) {
  return PlainOf(selection.selected().data, selection.selected().size);
}

ReductionInput Input(const std::vector<float>& values) {
  return {.values = {values.data(), static_cast<int64_t>(values.size())}};
}

// What a step selects doesn't depend on the steps before it: alike, smaller, larger, empty, tied.
TEST(ResidualSelectionTest, SelectsTheTopWhateverTheStepBeforeWasLike) {
  const float kScales[] = {1, 1.01f, 0.97f, 0.5f, 1e-20f, 1e-42f, 0, 1e10f, 1, 3, 1, 1};
  for (const int64_t k : {int64_t{1}, int64_t{50}, kSize / 2, 2 * kSize}) {
    for (const Shape shape : {Shape::kNormal, Shape::kTied, Shape::kMostlyZero}) {
      ResidualSelection selection(kSize);
      uint32_t seed = 0;
      for (const float scale : kScales) {
        std::vector<float> values = FloatsOf(shape, kSize, ++seed);
        for (float& x : values) x *= scale;
        ASSERT_OK_AND_ASSIGN(const bool finite, selection.SelectTop(Input(values), k, nullptr));
        EXPECT_TRUE(finite);
        ASSERT_EQ(Selected(selection), TopBySort(values, k)) << "scale " << scale << " k " << k;
      }
    }
  }
}

TEST(ResidualSelectionTest, SeesWhatIsNotFiniteInEveryStep) {
  ResidualSelection selection(kSize);
  const std::vector<float> good = FloatsOf(Shape::kNormal, kSize, 1);
  std::vector<float> bad = good;
  bad[77] = std::numeric_limits<float>::infinity();
  for (int step = 0; step < 2; ++step) {
    ASSERT_OK_AND_ASSIGN(const bool not_finite, selection.SelectTop(Input(bad), 10, nullptr));
    EXPECT_FALSE(not_finite);
    EXPECT_EQ(selection.selected().size, 0);
    ASSERT_OK_AND_ASSIGN(const bool finite, selection.SelectTop(Input(good), 10, nullptr));
    EXPECT_TRUE(finite);
  }
}

TEST(ResidualSelectionTest, ChangesTheResidualAtCommitOnly) {
  ResidualSelection selection(4);
  const std::vector<float> values = {1, -4, 2, 3};
  ASSERT_OK(selection.SelectTop(Input(values), 2, nullptr));
  EXPECT_EQ(Selected(selection), (std::vector<PlainEntry>{{1, -4.f}, {3, 3.f}}));
  const SparseEntries taken = EntriesOf({{0, 9.f}, {1, 9.f}});
  ASSERT_OK(selection.ClearDelivered({taken.data(), 2}));
  const DeviceSpan<float> before = selection.residual();
  EXPECT_EQ(std::vector<float>(before.data, before.data + 4), std::vector<float>(4, 0.0f));
  selection.Commit();
  const DeviceSpan<float> after = selection.residual();
  EXPECT_EQ(std::vector<float>(after.data, after.data + 4), (std::vector<float>{1, 0, 2, 3}));
}

TEST(ResidualSelectionTest, FactorZeroSelectsNothingAndStagesTheResidual) {
  ResidualSelection selection(2);
  selection.residual().data[1] = 5;
  ASSERT_OK_AND_ASSIGN(const bool finite, selection.SelectTop({.factor = 0}, 1, nullptr));
  EXPECT_TRUE(finite);
  EXPECT_EQ(selection.selected().size, 0);
  selection.Commit();
  EXPECT_EQ(selection.residual().data[1], 5);
}

TEST(ResidualSelectionTest, AThresholdIsReusedWhileItSelectsAboutK) {
  ResidualSelection selection(kSize);
  constexpr int64_t kK = 200;
  uint32_t key = 0;
  ASSERT_OK(selection.SelectAtThreshold(Input(FloatsOf(Shape::kNormal, kSize, 1)), kK, &key));
  EXPECT_EQ(selection.selected().size, kK);
  const uint32_t first = key;
  const std::vector<float> alike = FloatsOf(Shape::kNormal, kSize, 2);
  ASSERT_OK(selection.SelectAtThreshold(Input(alike), kK, &key));
  EXPECT_EQ(key, first);
  std::vector<PlainEntry> expected;
  for (const PlainEntry& entry : TopBySort(alike, kK)) {
    if (KeyOf(entry.second) >= key) expected.push_back(entry);
  }
  EXPECT_EQ(Selected(selection), expected);
  std::vector<float> larger = alike;
  for (float& x : larger) x *= 2;
  ASSERT_OK(selection.SelectAtThreshold(Input(larger), kK, &key));
  EXPECT_GT(key, first);
  EXPECT_EQ(Selected(selection), TopBySort(larger, kK));
}

}  // namespace
}  // namespace rondo
