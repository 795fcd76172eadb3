#include "common/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace rondo {
namespace {

struct LogSettings {
  LogFormat format = LogFormat::kText;
  std::string role = "rondo";
  std::string name;
};

// Set once by SetUpLog before threads start, read-only after.
LogSettings& Settings() {
  static LogSettings* settings = new LogSettings;
  return *settings;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view LevelWord(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "info";
}

std::string Quoted(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \t\n\r\"=") == std::string::npos;
  return plain
             ? value
             : nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string TextLine(LogLevel level, std::string_view event, const LogFields& fields) {
  const LogSettings& settings = Settings();
  std::string line = fmt::format(
      "{} {} {}{}{} {}", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
      LevelWord(level), settings.role, settings.name.empty() ? "" : "/", settings.name, event);
  for (const auto& [key, value] : fields) line += fmt::format(" {}={}", key, Quoted(value));
  return line;
}

std::string JsonLine(LogLevel level, std::string_view event, const LogFields& fields) {
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  line["level"] = LevelWord(level);
  line["role"] = Settings().role;
  line["name"] = Settings().name;
  line["event"] = event;
  for (const auto& [key, value] : fields) line[std::string(key)] = value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void SetUpLog(LogFormat format, LogLevel level, std::string_view role, std::string_view name) {
  Settings() = {format, std::string(role), std::string(name)};
  auto logger =
      std::make_shared<spdlog::logger>("rondo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  logger->set_level(SpdlogLevel(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void LogEvent(LogLevel level, std::string_view event, const LogFields& fields) {
  if (!spdlog::default_logger_raw()->should_log(SpdlogLevel(level))) return;
  const std::string line = Settings().format == LogFormat::kJson ? JsonLine(level, event, fields)
                                                                 : TextLine(level, event, fields);
  spdlog::default_logger_raw()->log(SpdlogLevel(level), spdlog::string_view_t(line));
}

absl::Status ParseLogFormat(std::string_view text, LogFormat* format) {
  if (text == "text") return *format = LogFormat::kText, absl::OkStatus();
  if (text == "json") return *format = LogFormat::kJson, absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("log format '{}' is not one of: text, json", text));
}

absl::Status ParseLogLevel(std::string_view text, LogLevel* level) {
  for (LogLevel candidate :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == LevelWord(candidate)) return *level = candidate, absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("log level '{}' is not one of: debug, info, warning, error", text));
}

}  // namespace rondo
