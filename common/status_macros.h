// RETURN_IF_ERROR and ASSIGN_OR_RETURN for absl::Status and absl::StatusOr.
#ifndef RONDO_COMMON_STATUS_MACROS_H_
#define RONDO_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RONDO_CONCAT_INNER_(a, b) a##b
#define RONDO_CONCAT_(a, b) RONDO_CONCAT_INNER_(a, b)

// Returns from the enclosing function when `expr` (a Status) is not OK.
#define RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                  \
    if (absl::Status rondo_status_ = (expr); !rondo_status_.ok()) return rondo_status_; \
  } while (false)

// `lhs` (a declaration or an lvalue) takes the value of `expr` (a StatusOr), or the function
// returns its status.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL_(RONDO_CONCAT_(rondo_status_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr)   \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(tmp).value()

#endif  // RONDO_COMMON_STATUS_MACROS_H_
