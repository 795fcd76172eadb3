// GoogleTest's words for absl::Status: EXPECT_OK(x), ASSERT_OK_AND_ASSIGN(auto v, F()),
// EXPECT_THAT(x, StatusIs(code)).
#ifndef RONDO_COMMON_STATUS_MATCHERS_H_
#define RONDO_COMMON_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rondo {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}
MATCHER_P(StatusIs, code, "has code " + absl::StatusCodeToString(code)) {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code;
}
MATCHER_P2(StatusIs, code, message_matcher, "has that code and message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         testing::Matches(message_matcher)(std::string(StatusOf(arg).message()));
}

}  // namespace rondo

#define EXPECT_OK(expr) EXPECT_THAT(expr, ::rondo::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT(expr, ::rondo::IsOk())
#define RONDO_TEST_CONCAT_INNER_(a, b) a##b
#define RONDO_TEST_CONCAT_(a, b) RONDO_TEST_CONCAT_INNER_(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_IMPL_(RONDO_TEST_CONCAT_(rondo_test_or_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  ASSERT_TRUE(tmp.ok()) << tmp.status();           \
  lhs = std::move(tmp).value()

#endif  // RONDO_COMMON_STATUS_MATCHERS_H_
