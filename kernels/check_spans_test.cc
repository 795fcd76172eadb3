#include "kernels/check_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/span.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

float memory[8];

TEST(CheckSpansTest, SpansOfOneSizeOnOneDeviceFit) {
  EXPECT_OK(CheckSpans("k", {{"a", {memory, 8}}, {"b", {memory, 8}}}));
}

TEST(CheckSpansTest, SizeZeroNeedsNoMemory) {
  EXPECT_OK(CheckSpans("k", {{"a", {nullptr, 0}}, {"b", {memory, 0}}}));
}

TEST(CheckSpansTest, SizesThatDifferAreNamed) {
  EXPECT_THAT(CheckSpans("k", {{"a", {memory, 8}}, {"b", {memory, 7}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("k"), HasSubstr("`b` has 7"), HasSubstr("`a` has 8"))));
}

TEST(CheckSpansTest, ANegativeSizeIsNamed) {
  EXPECT_THAT(CheckSpans("k", {{"a", {memory, -1}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
}

TEST(CheckSpansTest, ANullPointerIsNamed) {
  EXPECT_THAT(CheckSpans("k", {{"a", {memory, 8}}, {"b", {nullptr, 8}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("`b`")));
}

TEST(CheckSpansTest, DevicesThatDifferAreNamed) {
  const Device gpu{.kind = DeviceKind::kCuda, .index = 3};
  EXPECT_THAT(
      CheckSpans("k", {{"a", {memory, 8}}, {"b", {memory, 8, gpu}}}),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("cuda:3"), HasSubstr("cpu:0"))));
}

}  // namespace
}  // namespace rondo
