// Log set-up for the binaries: one line an event on standard error, as key=value or as JSON. Lines
// are written through spdlog's default logger; none per training step.
#ifndef RONDO_COMMON_LOG_H_
#define RONDO_COMMON_LOG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace rondo {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// `role` and `name` (e.g. "worker", "w3") stand in every line. Call once, before the first line.
void SetUpLog(LogFormat format, LogLevel level, std::string_view role, std::string_view name);

// One event: its name and its values. Text: `... joined worker=w1 group=3`; values with blanks are
// quoted. Threads: any.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;
void LogEvent(LogLevel level, std::string_view event, const LogFields& fields = {});

// For flags: "text" | "json", "debug" | "info" | "warning" | "error". InvalidArgument names the
// allowed words.
absl::Status ParseLogFormat(std::string_view text, LogFormat* format);
absl::Status ParseLogLevel(std::string_view text, LogLevel* level);

}  // namespace rondo

#endif  // RONDO_COMMON_LOG_H_
