#include "kernels/residual.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/cpu_path.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "kernels/sparse_oracle.h"
#include "kernels/test_buffer.h"

namespace rondo {
namespace {

DeviceSpan<const SparseEntry> Span(const SparseEntries& entries) {
  return {entries.data(), static_cast<int64_t>(entries.size())};
}

class ResidualTest : public KernelTest {};

TEST_P(ResidualTest, ClearsWhatWasGivenAndTaken) {
  const std::vector<float> values = NormalFloats(size(), 1);
  std::vector<float> expected = values;
  std::vector<PlainEntry> given, taken;
  for (int64_t i = 0; i < size(); ++i) {
    if (i % 3 == 0) given.push_back({i, values[static_cast<size_t>(i)]});
    if (i % 5 == 0) taken.push_back({i, 1.0f});
    if (i % 15 == 0) expected[static_cast<size_t>(i)] = 0;
  }
  TestBuffer x(device(), values);
  const SparseEntries g = EntriesOf(given), t = EntriesOf(taken);
  ASSERT_OK(ClearDelivered(x.span(), Span(g), Span(t)));
  EXPECT_EQ(x.Values(), expected);
  EXPECT_TRUE(x.CanariesLive());
}

TEST_P(ResidualTest, ExpandsEntriesToADenseQuotient) {
  std::vector<float> expected(static_cast<size_t>(size()), 0.0f);
  std::vector<PlainEntry> entries;
  for (int64_t i = size() - 1; i >= 0; i -= 7) entries.insert(entries.begin(), {i, 1.0f + i});
  for (const auto& [index, value] : entries) expected[static_cast<size_t>(index)] = value / 3.0f;
  TestBuffer x(device(), NormalFloats(size(), 1));
  ASSERT_OK(ExpandQuotients(Span(EntriesOf(entries)), 3.0f, x.span()));
  EXPECT_EQ(x.Values(), expected);
  EXPECT_TRUE(x.CanariesLive());
}

INSTANTIATE_TEST_SUITE_P(DevicePathAndSize, ResidualTest, AllKernelCases());

// Lists come over a network.
TEST(ResidualArgumentsTest, RefusesListsThatAreNotAscendingWithinTheVector) {
  TestBuffer x({}, {1, 2, 3});
  const SparseEntries right = EntriesOf({{0, 1.f}});
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  for (const auto& wrong : {EntriesOf({{1, 1.f}, {1, 1.f}}), EntriesOf({{2, 1.f}, {1, 1.f}}),
                            EntriesOf({{0, 1.f}, {3, 1.f}})}) {
    EXPECT_THAT(ClearDelivered(x.span(), Span(right), Span(wrong)), refused);
    EXPECT_THAT(ClearDelivered(x.span(), Span(wrong), Span(right)), refused);
    EXPECT_THAT(ExpandQuotients(Span(wrong), 1, x.span()), refused);
  }
  EXPECT_THAT(ExpandQuotients(Span(right), 0, x.span()), refused);
  EXPECT_EQ(x.Values(), (std::vector<float>{1, 2, 3}));
}

TEST(ResidualArgumentsTest, ABuildWithoutCudaRefusesAGpuSpan) {
  float value = 1;
  const DeviceSpan<float> span(&value, 1, {.kind = DeviceKind::kCuda});
  EXPECT_THAT(ClearDelivered(span, {}, {}), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(ExpandQuotients({}, 1, span), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
