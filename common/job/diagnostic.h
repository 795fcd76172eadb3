// What is wrong in a job file, and where.
#ifndef RONDO_COMMON_JOB_DIAGNOSTIC_H_
#define RONDO_COMMON_JOB_DIAGNOSTIC_H_

#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// From 1, as editors count; columns are characters. 0: of the file as a whole.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

struct Diagnostic {
  Position position;
  std::string key;  // The whole path, such as "schedule.peak" or "sync.table[1]"; may be empty.
  std::string message;
};

inline constexpr size_t kDiagnosticsShownMax = 100;

// One line each, in the order of the file: `FILE:LINE:COLUMN: KEY: MESSAGE`. The first
// kDiagnosticsShownMax, and how many more there are.
std::string FormatDiagnostics(std::string_view file, std::vector<Diagnostic> diagnostics);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_DIAGNOSTIC_H_
